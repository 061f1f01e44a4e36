"""The few classes of Spark that we need and PySpark does not show.

They are the same in Spark 3.5 and 4.1. Everything that is private in PySpark is touched here only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any, Final

from py4j.java_gateway import is_instance_of
from py4j.protocol import Py4JError
from pyspark import RDD
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from framework.errors import NotYetBuiltError

__all__ = ["Jvm"]

# No path holds NUL, so one text holds any number of paths in one call.
_BETWEEN: Final = "\0"
_CATALYST: Final = "org.apache.spark.sql.catalyst"


class Jvm:
    """Spark's classes as seen from one session; each method is a fixed number of calls to Java."""

    def __init__(self, spark: SparkSession) -> None:
        """Take a session.

        Raises:
            NotYetBuiltError: `spark/connect-not-built` for a session of Spark Connect.
        """
        self.spark = spark
        if getattr(spark, "_jsparkSession", None) is None:
            raise NotYetBuiltError(
                "spark/connect-not-built",
                "this version reads tables in Spark's own process, not over Spark Connect",
                remedy="Use a session that was started with a master.",
            )
        self.session: Any = spark._jsparkSession  # noqa: SLF001 - see the module's docstring
        root: Any = spark._jvm  # noqa: SLF001 - see the module's docstring
        self.root = root
        self.sources = root.org.apache.spark.sql.execution.datasources
        self._python = root.org.apache.spark.api.python.PythonUtils
        self._texts = root.org.apache.hadoop.util.StringUtils

    def private_session(self, settings: Mapping[str, str]) -> Any:
        """Return a Java session with the settings of this one and some of its own.

        It shares everything else; what is set in it reaches only relations that are made with it.
        """
        clone = self.session.cloneSession()
        for key, value in settings.items():
            clone.conf().set(key, value)
        return clone

    def own_session(self, settings: Mapping[str, str]) -> SparkSession:
        """Return a private session for PySpark, which has none of the temporary views of this one.

        Functions that were registered in this one are there. `${…}` in its SQL is text, and not
        replaced by settings or the environment. The last session that is made is the
        one that `RDD.toDF` uses, so that is put back.
        """
        clone = self.private_session({**settings, "spark.sql.variable.substitute": "false"})
        clone.sessionState().catalog().clearTempTables()
        to_frame = RDD.toDF
        try:
            return SparkSession(self.spark.sparkContext, clone)
        finally:
            RDD.toDF = to_frame  # type: ignore[method-assign] # PySpark has assigned it itself

    @contextmanager
    def keeping_active(self) -> Iterator[None]:
        """Leave the session that is active as it is.

        PySpark makes a session the active one whenever it makes a frame of local rows in it.
        """
        known, active = SparkSession._activeSession, self._sessions.getActiveSession()  # noqa: SLF001 - see above
        try:
            yield
        finally:
            SparkSession._activeSession = known  # noqa: SLF001 - see above
            with suppress(Py4JError):  # where the JVM has ended
                if active.isDefined():
                    self._sessions.setActiveSession(active.get())
                else:
                    self._sessions.clearActiveSession()

    @contextmanager
    def speaking(self) -> Iterator[None]:
        """Let SQL that becomes a column on this thread be read under this session's settings.

        Spark 3.5 does so under those of whichever session is active, ANSI mode among them; 4 waits
        until it knows the frame.
        """
        with self.keeping_active():
            self._sessions.setActiveSession(self.session)
            yield

    def parsed_query(self, sql: str) -> Any:
        """Return what Spark's parser makes of a query; it refuses what is none, as a command."""
        return self.session.sessionState().sqlParser().parseQuery(sql)

    def parsed_expression(self, sql: str) -> Any:
        """Return what Spark's parser makes of an expression."""
        return self.session.sessionState().sqlParser().parseExpression(sql)

    def function_identifier(self, name: str) -> Any:
        """Return a function's name as Spark's catalog takes it."""
        return self.root.org.apache.spark.sql.catalyst.FunctionIdentifier(name)

    def analysed(self, frame: DataFrame) -> Any:
        """Return the plan of a frame before Spark optimizes it."""
        return frame._jdf.queryExecution().analyzed()  # noqa: SLF001 - see the module's docstring

    def schema_json(self, frame: DataFrame) -> str:
        """Return the schema of a frame, types included that PySpark has no class for."""
        return str(frame._jdf.schema().json())  # noqa: SLF001 - see the module's docstring

    def type_texts(self, frame: DataFrame) -> tuple[str, ...]:
        """Return the types of a frame's columns in SQL's words; costs two calls for each."""
        fields = frame._jdf.schema().fields()  # noqa: SLF001 - see the module's docstring
        return tuple(str(field.dataType().catalogString()) for field in fields)

    def mentioned(self, frame: DataFrame) -> list[str]:
        """Return the columns that the last step of a frame refers to; costs a call for each."""
        found = self.analysed(frame).references().toSeq()
        return [str(each.name()) for each in self.listed(found)]

    def input_files(self, frame: DataFrame) -> list[str]:
        """Return the files of a frame as percent-encoded locations, in no order."""
        return self.strings(frame._jdf.inputFiles())  # noqa: SLF001 - see the module's docstring

    def listed(self, sequence: Any) -> list[Any]:
        """Return a Scala sequence of Java objects; costs one call for each."""
        return list(self.root.scala.collection.JavaConverters.seqAsJavaList(sequence))

    def is_expression(self, value: Any, kind: str) -> bool:
        """Whether a Java object is of a class or trait of Catalyst's expressions."""
        gateway = self.spark.sparkContext._gateway  # noqa: SLF001 - see the module's docstring
        return bool(is_instance_of(gateway, value, f"{_CATALYST}.expressions.{kind}"))

    def paths(self, texts: Sequence[str]) -> Any:
        """Return plain paths as a Scala list of Hadoop paths; nothing in them is an escape."""
        array = self._texts.getStrings(_BETWEEN.join(texts), _BETWEEN)
        return self.root.scala.Predef.genericWrapArray(self._texts.stringToPath(array)).toList()

    def strings(self, array: Any) -> list[str]:
        """Return a Java array of paths as Python texts."""
        text: str = self._texts.join(_BETWEEN, array)
        return text.split(_BETWEEN) if text else []

    def struct(self, schema: StructType) -> Any:
        """Return a schema as Spark's own."""
        return self.session.parseDataType(schema.json())

    def some(self, value: Any) -> Any:
        """Return `Some(value)`."""
        return self.root.scala.Option.apply(value)

    @property
    def none(self) -> Any:
        """Scala's `None`."""
        return self.module(self.root.scala, "None")

    def module(self, package: Any, name: str) -> Any:
        """Return a Scala object."""
        return getattr(getattr(package, f"{name}$"), "MODULE$")

    def options(self, entries: Mapping[str, str]) -> Any:
        """Return a Scala map of texts."""
        return self._python.toScalaMap(dict(entries))

    def sequence(self, values: Sequence[Any]) -> Any:
        """Return Java objects as a Scala sequence; costs one call for each."""
        return self._python.toSeq(list(values))

    def rows(self, frame: DataFrame) -> Any:
        """Return the rows of a small local frame as a Java array of internal rows."""
        return frame._jdf.queryExecution().executedPlan().executeCollect()  # noqa: SLF001 - see above

    @cached_property
    def row_index(self) -> str:
        """The name of a long column that Spark's Parquet reader fills with row numbers."""
        parquet = self.module(self.sources.parquet, "ParquetFileFormat")
        return str(parquet.ROW_INDEX_TEMPORARY_COLUMN_NAME())

    def frame(self, relation: Any, *, with_paths: bool = False) -> DataFrame:
        """Return a relation as a data frame of this session.

        With paths it has one more column, `_metadata.file_path`. Named in a query, Spark would add
        the whole struct, and read all of it, row numbers too, even where nothing of it is used: a
        quarter of the time of a narrow scan.
        """
        frame = self.session.baseRelationToDataFrame(relation)
        if with_paths:
            plan = frame.queryExecution().analyzed()
            frame = self._dataset.ofRows(self.session, self._with_paths(plan))
        return DataFrame(frame, self.spark)

    @property
    def _sessions(self) -> Any:
        """Spark's class of sessions."""
        sql = self.root.org.apache.spark.sql
        return sql.SparkSession if self.spark.version < "4" else sql.classic.SparkSession

    @property
    def _dataset(self) -> Any:
        """Spark's class of data frames."""
        sql = self.root.org.apache.spark.sql
        return sql.Dataset if self.spark.version < "4" else sql.classic.Dataset

    def _with_paths(self, plan: Any) -> Any:
        """Return the plan of a file relation with the paths of its metadata as an output."""
        catalyst = self.root.org.apache.spark.sql.catalyst
        whole = plan.metadataOutput().apply(0)
        paths = self.root.org.apache.spark.sql.types.StructType().add(
            whole.dataType().apply("file_path")
        )
        attribute = catalyst.expressions.AttributeReference(
            whole.name(),
            paths,
            whole.nullable(),
            whole.metadata(),
            whole.exprId(),
            whole.qualifier(),
        )
        output = self.root.java.util.ArrayList(
            self.root.scala.collection.JavaConverters.seqAsJavaList(plan.output())
        )
        output.add(attribute)
        rest = [plan.productElement(at) for at in range(2, plan.productArity())]
        return self.sources.LogicalRelation(plan.relation(), self._python.toSeq(output), *rest)
