"""SQL that specs may hold, and attacks that they may not; over the view `source`."""

# ruff: noqa: S608 - attacks and queries are put together from parts here

from __future__ import annotations

__all__ = ["ATTACKS", "PREDICATES", "PREDICATE_ATTACKS", "QUERIES", "QUERIES_OF_SPARK_4"]

_GETENV = "'java.lang.System', 'getenv', 'HOME'"

CALLS = (
    f"java_method({_GETENV})",
    f"reflect({_GETENV})",
    f"try_reflect({_GETENV})",
    f"JAVA_METHOD({_GETENV})",
    f"`java_method`({_GETENV})",
    f"java_method /* why */ ({_GETENV})",
    f"java_method -- why\n({_GETENV})",
    f"system.builtin.java_method({_GETENV})",
    f"`system`.`builtin`.`reflect`({_GETENV})",
    f"default.own({_GETENV})",
    f"concat('a', upper(reflect({_GETENV})))",
    f"transform(array(1), x -> reflect({_GETENV}))",
    f"CASE WHEN true THEN reflect({_GETENV}) END",
    f"cast(reflect({_GETENV}) AS decimal(10, 2))",
    f"named_struct('a', reflect({_GETENV})).a",
    "input_file_name()",
    "input_file_block_start()",
    "current_user()",
    "session_user()",
    "user()",
    "version()",
    "current_database()",
    "current_catalog()",
    "from_xml('<a/>', 'a int', map('rowValidationXSDPath', '/etc/passwd'))",
    "from_avro(v, '{}')",
    "from_protobuf(v, 'M', '/etc/passwd')",
    "ai_query('model', v)",
    "http_get('http://example.com')",
    f"IDENTIFIER('java_method')({_GETENV})",
    "strng('a')",
)

_FILES = ("text", "csv", "json", "parquet", "orc", "binaryFile", "delta", "hudi", "avro", "xml")

READS = (
    *(f"SELECT * FROM {kind}.`/etc/passwd`" for kind in _FILES),
    "SELECT * FROM `text`.`/etc/passwd`",
    "SELECT * FROM source JOIN text.`/etc/passwd` ON true",
    "SELECT * FROM source, text.`/etc/passwd`",
    "SELECT * FROM source WHERE v IN (SELECT value FROM text.`/etc/passwd`)",
    "SELECT *, (SELECT max(value) FROM text.`/etc/passwd`) AS s FROM source",
    "SELECT * FROM source WHERE EXISTS (SELECT 1 FROM text.`/etc/passwd`)",
    "WITH a AS (SELECT * FROM text.`/etc/passwd`) SELECT * FROM a",
    "SELECT * FROM (SELECT * FROM (SELECT * FROM text.`/etc/passwd`))",
    "SELECT id FROM source UNION ALL SELECT value FROM text.`/etc/passwd`",
    "SELECT * FROM other",
    "SELECT * FROM global_temp.source",
    "SELECT * FROM spark_catalog.default.source",
    "SELECT * FROM default.source",
    "SELECT * FROM source TIMESTAMP AS OF '2026-01-01' JOIN other",
    "SELECT * FROM source s, LATERAL (SELECT * FROM text.`/etc/passwd`)",
    "SELECT * FROM (TABLE other)",
    "SELECT * FROM IDENTIFIER('text.`/etc/passwd`')",
    "SELECT * FROM read_files('/etc/passwd')",
    "SELECT * FROM python_worker_logs()",
)

COMMANDS = (
    "SET spark.sql.ansi.enabled",
    "ADD JAR '/tmp/a.jar'",
    "CACHE TABLE source",
    "INSERT INTO source SELECT 1",
    "CREATE TEMPORARY FUNCTION f AS 'a.B'",
    "DROP TABLE source",
    "WITH a AS (SELECT 1) INSERT INTO source SELECT * FROM a",
    "SELECT TRANSFORM(id) USING 'cat' AS (id) FROM source",
)

ATTACKS = (
    *(f"SELECT {call} AS s FROM source" for call in CALLS),
    f"SELECT * FROM source WHERE reflect({_GETENV}) IS NULL",
    f"SELECT count(*) FROM source GROUP BY reflect({_GETENV})",
    f"SELECT count(*) FROM source HAVING max(reflect({_GETENV})) IS NULL",
    f"SELECT * FROM source ORDER BY reflect({_GETENV})",
    f"SELECT * FROM source LATERAL VIEW explode(array(reflect({_GETENV}))) t AS c",
    f"SELECT * FROM VALUES (reflect({_GETENV})) AS t(a)",
    f"SELECT sum(id) OVER w FROM source WINDOW w AS (PARTITION BY reflect({_GETENV}))",
    f"SELECT sum(id) OVER (ORDER BY reflect({_GETENV})) FROM source",
    f"SELECT * FROM source a JOIN source b ON reflect({_GETENV}) IS NULL",
    f"SELECT /*+ COALESCE(1) */ reflect({_GETENV}) FROM source",
    f"SELECT * FROM explode(array(reflect({_GETENV})))",
    f"SELECT * FROM source LIMIT length(reflect({_GETENV}))",
    *READS,
    *COMMANDS,
)

PREDICATE_ATTACKS = (
    *(f"{call} IS NOT NULL" for call in CALLS),
    "v IN (SELECT value FROM text.`/etc/passwd`)",
    "(SELECT count(*) FROM text.`/etc/passwd`) > 0",
    "count(*) > (SELECT count(*) FROM other)",
)

QUERIES = (
    "SELECT * FROM source",
    "SELECT upper(v) AS u, `lower`(v) AS l FROM SOURCE",
    "SELECT cast(id AS varchar(3)) a, try_cast(v AS int) b FROM source",
    "SELECT extract(year FROM date '2026-01-01') y FROM source",
    "WITH a (x) AS (SELECT id FROM source), b AS (SELECT 1 x) SELECT x FROM a JOIN b USING (x)",
    "WITH a AS (WITH b AS (SELECT 1 AS x) SELECT x FROM b) SELECT * FROM a",
    "SELECT * FROM source s (a, b, c) WHERE EXISTS (SELECT 1 FROM source o WHERE o.id = s.a)",
    "SELECT id, row_number() OVER (PARTITION BY v ORDER BY id) n FROM source",
    "SELECT sum(id) OVER w AS s FROM source WINDOW w AS (PARTITION BY v)",
    "SELECT c FROM source LATERAL VIEW explode(items) t AS c",
    "SELECT * FROM VALUES (1, 'a'), (2, 'b') AS t(a, b)",
    "SELECT * FROM range(3)",
    "SELECT v, count(*) FROM source GROUP BY GROUPING SETS ((v), ()) HAVING count(*) > 0",
    "SELECT count(*) FILTER (WHERE id > 1) c, sum(id) FROM source GROUP BY ROLLUP (v)",
    "SELECT * FROM (SELECT id, v FROM source) PIVOT (max(id) FOR v IN ('0', '1'))",
    "SELECT transform(items, (x, i) -> x + i) a, filter(items, x -> x > 1) f FROM source",
    "SELECT id FROM source UNION SELECT id FROM source EXCEPT SELECT 1 INTERSECT SELECT 2",
    "SELECT /*+ BROADCAST(b) */ a.id FROM source a LEFT ANTI JOIN source b ON a.id = b.id",
    "SELECT trim(BOTH ' ' FROM v) t, position('a' IN v) p, substring(v FROM 1 FOR 2) s FROM source",
    "SELECT timestampadd(DAY, 1, timestamp '2026-01-01') t, current_date, now() FROM source",
    "SELECT * FROM source TABLESAMPLE (10 ROWS) ORDER BY id LIMIT 2",
    "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY id) p, any_value(v) FROM source",
    "SELECT if(id > 1, 'a', 'b') x, v LIKE 'a%' OR v RLIKE '^[0-9]+$' y, left(v, 1) FROM source",
    "SELECT DISTINCT id FROM source WHERE id IN (1, 2) AND NOT (id BETWEEN 5 AND (3 + 4))",
    "SELECT rand(), uuid() FROM source",
)

QUERIES_OF_SPARK_4 = (
    "SELECT id::decimal(10, 2) AS d FROM source",
    "SELECT s.* EXCEPT (items) FROM source s",
)
"""Syntax that Spark 3.5 does not know."""

PREDICATES = (
    "id > 1 AND v IN ('a', 'b')",
    "count(*) >= 10",
    "v RLIKE '^(a|b)+$' AND coalesce(v, '') <> ''",
    "(SELECT count(*) FROM this) > 0",
    "exists(items, x -> x > 1)",
    "cast(v AS decimal(10, 2)) IS NOT NULL",
)
