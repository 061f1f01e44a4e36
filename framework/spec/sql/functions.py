"""Spark SQL's own functions, as of 4.1, by how they treat rows; others are unknown."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Final

from framework.spec.document.findings import nearest

__all__ = ["AGGREGATES", "OF_THEIR_ROW", "function_fault", "nearest_function", "refused_functions"]


_FILE: Final = files(__package__).joinpath("spark_functions.json")
_SYNTAX: Final = frozenset(
    {"cast", "try_cast", "timestampadd", "timestampdiff", "timediff", "try_timestampadd"}
)
"""Functions of Spark's grammar that no registry lists."""

_AGGREGATES = """
    any any_value approx_count_distinct approx_percentile approx_top_k approx_top_k_accumulate
    approx_top_k_combine array_agg avg bit_and bit_or bit_xor bitmap_and_agg
    bitmap_construct_agg bitmap_or_agg bool_and bool_or collect_list collect_set corr count
    count_if count_min_sketch covar_pop covar_samp every first first_value grouping grouping_id
    histogram_numeric hll_sketch_agg hll_union_agg kll_merge_agg_bigint kll_merge_agg_double
    kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float
    kurtosis last last_value listagg max max_by mean median min min_by mode percentile
    percentile_approx percentile_cont percentile_disc regr_avgx regr_avgy regr_count
    regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy skewness some std stddev
    stddev_pop stddev_samp string_agg sum theta_intersection_agg theta_sketch_agg
    theta_union_agg try_avg try_sum var_pop var_samp variance
"""
_OF_THEIR_ROW = """
    abs acos acosh add_months aes_decrypt aes_encrypt aggregate and approx_top_k_estimate array
    array_append array_compact array_contains array_distinct array_except array_insert
    array_intersect array_join array_max array_min array_position array_prepend array_remove
    array_repeat array_size array_sort array_union arrays_overlap arrays_zip ascii asin asinh
    atan atan2 atanh base64 between bigint bin binary bit_count bit_get bit_length
    bitmap_bit_position bitmap_bucket_number bitmap_count boolean bround btrim cardinality case
    cast cbrt ceil ceiling char char_length character_length chr coalesce collate collation
    collations concat concat_ws contains conv convert_timezone cos cosh cot crc32 csc cume_dist
    curdate current_catalog current_database current_date current_schema current_time
    current_timestamp current_timezone current_user date date_add date_diff date_format
    date_from_unix_date date_part date_sub date_trunc dateadd datediff datepart day dayname
    dayofmonth dayofweek dayofyear decimal decode degrees dense_rank div double e element_at elt
    encode endswith equal_null exists exp explode explode_outer expm1 extract factorial filter
    find_in_set flatten float floor forall format_number format_string from_avro from_csv
    from_json from_protobuf from_unixtime from_utc_timestamp from_xml get get_json_object getbit
    greatest hash hex hll_sketch_estimate hll_union hour hypot if ifnull ilike in initcap inline
    inline_outer instr int is_valid_utf8 is_variant_null isnan isnotnull isnull
    json_array_length json_object_keys json_tuple kll_sketch_get_n_bigint
    kll_sketch_get_n_double kll_sketch_get_n_float kll_sketch_get_quantile_bigint
    kll_sketch_get_quantile_double kll_sketch_get_quantile_float kll_sketch_get_rank_bigint
    kll_sketch_get_rank_double kll_sketch_get_rank_float kll_sketch_merge_bigint
    kll_sketch_merge_double kll_sketch_merge_float kll_sketch_to_string_bigint
    kll_sketch_to_string_double kll_sketch_to_string_float lag last_day lcase lead least left
    len length levenshtein like ln localtimestamp locate log log10 log1p log2 lower lpad ltrim
    luhn_check make_date make_dt_interval make_interval make_time make_timestamp
    make_timestamp_ltz make_timestamp_ntz make_valid_utf8 make_ym_interval map map_concat
    map_contains_key map_entries map_filter map_from_arrays map_from_entries map_keys map_values
    map_zip_with mask md5 minute mod month monthname months_between named_struct nanvl negative
    next_day not now nth_value ntile nullif nullifzero nvl nvl2 octet_length or overlay
    parse_json parse_url percent_rank pi pmod posexplode posexplode_outer position positive pow
    power printf python_worker_logs quarter quote radians range rank reduce regexp regexp_count
    regexp_extract regexp_extract_all regexp_instr regexp_like regexp_replace regexp_substr
    repeat replace reverse right rint rlike round row_number rpad rtrim schema_of_avro
    schema_of_csv schema_of_json schema_of_variant schema_of_variant_agg schema_of_xml sec
    second sentences sequence session_user session_window sha sha1 sha2 shiftleft shiftright
    shiftrightunsigned sign signum sin sinh size slice smallint sort_array soundex space split
    split_part sql_keywords sqrt st_asbinary st_geogfromwkb st_geomfromwkb st_setsrid st_srid
    stack startswith str_to_map string struct substr substring substring_index tan tanh
    theta_difference theta_intersection theta_sketch_estimate theta_union time time_diff
    time_trunc timestamp timestamp_micros timestamp_millis timestamp_seconds tinyint to_avro
    to_binary to_char to_csv to_date to_json to_number to_protobuf to_time to_timestamp
    to_timestamp_ltz to_timestamp_ntz to_unix_timestamp to_utc_timestamp to_varchar
    to_variant_object to_xml transform transform_keys transform_values translate trim trunc
    try_add try_aes_decrypt try_divide try_element_at try_make_interval try_make_timestamp
    try_make_timestamp_ltz try_make_timestamp_ntz try_mod try_multiply try_parse_json
    try_parse_url try_subtract try_to_binary try_to_date try_to_number try_to_time
    try_to_timestamp try_url_decode try_validate_utf8 try_variant_get typeof ucase unbase64
    unhex unix_date unix_micros unix_millis unix_seconds unix_timestamp upper url_decode
    url_encode user validate_utf8 variant_explode variant_explode_outer variant_get version
    weekday weekofyear when width_bucket window window_time xpath xpath_boolean xpath_double
    xpath_float xpath_int xpath_long xpath_number xpath_short xpath_string xxhash64 year
    zeroifnull zip_with
"""
AGGREGATES = frozenset(_AGGREGATES.split())
"""Functions that make one value of many rows."""
OF_THEIR_ROW = frozenset(_OF_THEIR_ROW.split())
"""Functions that depend on their arguments only, not on other rows or the run."""


def function_fault(name: str) -> str | None:
    """Return why SQL of a spec may not call the function, ignoring case; None if it may.

    A name of several parts is a function of a catalog, which is never allowed.
    """
    key = name.lower()
    allowed, refused = _lists()
    if key in allowed:
        return None
    if key in refused:
        return f"`{name[:60]}` is not allowed in specs: {refused[key]}"
    return f"`{name[:60]}` is not among the functions that specs may call"


def nearest_function(name: str) -> str | None:
    """Return the allowed function with the closest name, or None."""
    return nearest(name.lower(), _lists()[0])


def refused_functions() -> frozenset[str]:
    """Return the functions of Spark that are not allowed."""
    return frozenset(_lists()[1])


@cache
def _lists() -> tuple[frozenset[str], dict[str, str]]:
    """Return the allowed functions, and the refused ones with the reason."""
    found: dict[str, dict[str, str]] = json.loads(_FILE.read_text(encoding="utf-8"))
    return frozenset(found["allowed"]) | _SYNTAX, found["refused"]
