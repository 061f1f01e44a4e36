"""The few Spark classes that we need and PySpark does not expose.

They are the same in Spark 3.5 and 4.1. Only this module uses private parts of PySpark.
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

from framework.spark.session import require_classic

__all__ = ["Jvm"]

# No path contains NUL, so one text passes any number of paths in one call.
_BETWEEN: Final = "\0"
_CATALYST: Final = "org.apache.spark.sql.catalyst"


class Jvm:
    """Spark's classes as seen from one session; each method is a fixed number of calls to Java."""

    def __init__(self, spark: SparkSession) -> None:
        """Bind to a session.

        Raises:
            NotYetBuiltError: `spark/connect-not-built` for a session of Spark Connect.
        """
        self.spark = spark
        require_classic(spark)
        self.session: Any = spark._jsparkSession  # noqa: SLF001 - see the module's docstring
        root: Any = spark._jvm  # noqa: SLF001 - see the module's docstring
        self.root = root
        self.sources = root.org.apache.spark.sql.execution.datasources
        self._python = root.org.apache.spark.api.python.PythonUtils
        self._texts = root.org.apache.hadoop.util.StringUtils

    def private_session(self, settings: Mapping[str, str]) -> Any:
        """Return a Java session with the settings of this one and some of its own.

        It shares everything else; its settings affect only relations created with it.
        """
        clone = self.session.cloneSession()
        for key, value in settings.items():
            clone.conf().set(key, value)
        return clone

    def own_session(self, settings: Mapping[str, str]) -> SparkSession:
        """Return a private session for PySpark, without the temporary views of this one.

        It has the functions registered in this one. `${…}` in its SQL is text, not replaced by
        settings or the environment. `RDD.toDF` uses the session created last, so it is restored.
        """
        clone = self.private_session({**settings, "spark.sql.variable.substitute": "false"})
        clone.sessionState().catalog().clearTempTables()
        to_frame = RDD.toDF
        try:
            return SparkSession(self.spark.sparkContext, clone)
        finally:
            RDD.toDF = to_frame  # type: ignore[method-assign] # PySpark assigns it itself

    @contextmanager
    def keeping_active(self) -> Iterator[None]:
        """Restore the active session at the end.

        PySpark activates a session whenever it creates a frame of local rows in it.
        """
        known, active = SparkSession._activeSession, self._sessions.getActiveSession()  # noqa: SLF001 - see above
        try:
            yield
        finally:
            SparkSession._activeSession = known  # noqa: SLF001 - see above
            with suppress(Py4JError):  # if the JVM has ended
                if active.isDefined():
                    self._sessions.setActiveSession(active.get())
                else:
                    self._sessions.clearActiveSession()

    @contextmanager
    def speaking(self) -> Iterator[None]:
        """Parse SQL columns on this thread under this session's settings.

        Spark 3.5 parses them under those of the active session, including ANSI mode; 4 waits until
        it knows the frame.
        """
        with self.keeping_active():
            self._sessions.setActiveSession(self.session)
            yield

    def parsed_query(self, sql: str) -> Any:
        """Return the parsed plan of a query; Spark's parser refuses commands."""
        return self.session.sessionState().sqlParser().parseQuery(sql)

    def parsed_expression(self, sql: str) -> Any:
        """Return the parsed expression."""
        return self.session.sessionState().sqlParser().parseExpression(sql)

    def function_identifier(self, name: str) -> Any:
        """Return a function's name for Spark's catalog."""
        return self.root.org.apache.spark.sql.catalyst.FunctionIdentifier(name)

    def analysed(self, frame: DataFrame) -> Any:
        """Return the plan of a frame before optimization."""
        return frame._jdf.queryExecution().analyzed()  # noqa: SLF001 - see the module's docstring

    def planned(self, frame: DataFrame) -> Any:
        """Return the physical plan of a frame with its shuffles, without adaptive execution."""
        clone = self.private_session({"spark.sql.adaptive.enabled": "false"})
        mode = self.module(self.root.org.apache.spark.sql.execution, "CommandExecutionMode")
        return clone.sessionState().executePlan(self.analysed(frame), mode.ALL()).executedPlan()

    def no_attributes(self) -> Any:
        """Return an empty set of Catalyst's attributes."""
        return self.module(
            self.root.org.apache.spark.sql.catalyst.expressions, "AttributeSet"
        ).empty()

    def union(self, one: Any, other: Any) -> Any:
        """Return the union of two sets of attributes."""
        return getattr(one, "$plus$plus")(other)

    def difference(self, one: Any, other: Any) -> Any:
        """Return the attributes of one set that another does not have."""
        return getattr(one, "$minus$minus")(other)

    def schema_json(self, frame: DataFrame) -> str:
        """Return the schema of a frame, including types that PySpark has no class for."""
        return str(frame._jdf.schema().json())  # noqa: SLF001 - see the module's docstring

    def type_texts(self, frame: DataFrame) -> tuple[str, ...]:
        """Return the SQL types of a frame's columns; costs two calls for each."""
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
        """Return whether a Java object is of a class or trait of Catalyst's expressions."""
        return self.is_a(value, f"{_CATALYST}.expressions.{kind}")

    def is_a(self, value: Any, name: str) -> bool:
        """Return whether a Java object is of a class or trait by its full name."""
        gateway = self.spark.sparkContext._gateway  # noqa: SLF001 - see the module's docstring
        return bool(is_instance_of(gateway, value, name))

    def paths(self, texts: Sequence[str]) -> Any:
        """Return plain paths as a Scala list of Hadoop paths, without interpreting escapes."""
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

        With paths it also has `_metadata.file_path`. If a query named it, Spark would add the whole
        struct and read all of it, including row numbers, even if unused: a quarter of the time of a
        narrow scan.
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
