"""SQL of transforms and of checks -> finished SQL, or its faults.

Two substitutions are made in the author's text, each once and never rescanned: `${…}` references,
as everywhere in a spec, and Jinja's `{{ var.x }}`. To keep them apart, each reference is a mark of
private characters while Jinja works, so that no value is ever read as Jinja.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from framework.spec.document.findings import MAX_FINDINGS
from framework.spec.document.positions import ScalarNode
from framework.spec.document.references import (
    LooseText,
    Reference,
    Resolver,
    Scope,
    Variable,
    split_references,
    text_within,
)
from framework.spec.document.scalars import ScalarValue, scalar_text
from framework.spec.document.secret import Secret
from framework.spec.rules.inclusions import SqlFiles
from framework.spec.sections.transform_spec import MAX_TRANSFORMS, SOURCE_VIEW, TransformSpec
from framework.spec.sql.allowed_sql import SqlFault, query_faults
from framework.spec.sql.statement import StatementError, finished_statement
from framework.spec.templates.template_check import MARK
from framework.spec.templates.template_engine import MAX_RENDERED, Rendered, as_template, render

__all__ = ["SqlFinisher"]

_END = "\ue001"
_MARKED = re.compile(rf"{MARK}([0-9]+){_END}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlFinisher:
    """Renderer of one document's SQL; `scope` resolves its references."""

    scope: Scope
    files: SqlFiles

    def finished(self, transforms: object) -> tuple[TransformSpec, ...]:
        """Return the transforms without faults, in order; report the faults of the others.

        `transforms` is the section's data. Items that are not transforms at all are skipped; the
        checks of fields report them.
        """
        found = []
        views = [SOURCE_VIEW]
        listed = transforms if isinstance(transforms, list) else []
        for index, fields in enumerate(listed[:MAX_TRANSFORMS]):
            written = fields if isinstance(fields, Mapping) else {}
            sqls = [name for name in ("sql", "sql_file") if name in written]
            if len(sqls) == 1:
                path = f"transforms[{index}].{sqls[0]}"
                name = str(written.get("name"))
                found.append(self.one(name, written[sqls[0]], path, views))
            views.append(str(written.get("name")))
        return tuple(transform for transform in found if transform is not None)

    def one(
        self, name: str, written: object, path: str, views: Sequence[str]
    ) -> TransformSpec | None:
        """Return the SQL at the path, or None, with findings, if it has faults.

        At a path that ends in `sql_file`, `written` names a file. `views` are the views that the
        SQL may read.
        """
        template = self._template(written, path)
        found = self._one(name, template, path)
        if found is None or template is None:
            return found
        faults = query_faults(found.sql, views)
        for fault in faults[:MAX_FINDINGS]:
            self._note_sql(fault, path, template, found.sql)
        return None if faults else found

    def _note_sql(self, fault: SqlFault, path: str, template: str, sql: str) -> None:
        """Report a fault of finished SQL, at the author's own words if the template has them.

        In the text of a field the position is exact. For a file, and for Jinja's output, the
        message states line and column.
        """
        positions, findings = self.files.positions, self.files.findings
        message, at = fault.message, _in_template(fault, template, sql)
        if at is None or path.endswith(".sql_file"):
            what, text = ("the finished SQL", sql) if at is None else ("the file", template)
            offset = fault.offset if at is None else at
            line, column = text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)
            message = f"line {line}, column {column} of {what}: {message}"
            span = positions.span(path)
        else:
            span = positions.part(path, at, fault.length)
        findings.add(
            f"spec/{fault.rule}", span, message, key_path=path, suggestion=fault.suggestion
        )

    def _template(self, value: object, path: str) -> str | None:
        """Return the author's text, inline or from the file, if its references are valid."""
        node, findings = self.files.positions.node(path), self.files.findings
        at_fault = any(finding.key_path == path for finding in findings.errors)
        is_reported = at_fault or findings.full
        if is_reported or not isinstance(value, str) or not isinstance(node, ScalarNode):
            return None
        if not path.endswith(".sql_file"):
            return node.text
        content = self.files.content(value, path)
        if content is None:
            return None
        before = len(findings.errors)
        text = ScalarNode(text=content, value=content, plain=False, span=node.span)
        resolved = Resolver(scope=self.scope, findings=findings).resolve(text, path)
        if isinstance(resolved.value, Secret):
            message = "a secret is not allowed in SQL, because SQL is stored and shown"
            self._note("secret-not-allowed", path, message)
        return None if findings.full or len(findings.errors) > before else content

    def _one(self, name: str, template: str | None, path: str) -> TransformSpec | None:
        """Return the finished transform of a template, or None, with findings, if it has faults."""
        if template is None:
            return None
        marked, values = self._marked(template)
        rendered = self._rendered(marked, mark_itself=len(values) - 1)
        for fault in rendered.faults:
            message = f"line {fault.line} of the template: {fault.message}"
            self._note(fault.rule, path, message, fault.suggestion)
        sql = None if rendered.faults else self._statement(rendered.text, values, path)
        if sql is None:
            return None
        reads_environment = any(self._is_from_environment(used) for used in rendered.uses)
        stored = template if reads_environment else _storable(rendered.text.strip(), values)
        return TransformSpec(name=name, sql=sql, stored=stored, uses=rendered.uses)

    def _rendered(self, marked: str, *, mark_itself: int) -> Rendered:
        """Return Jinja's result for the marked text.

        If a variable's value contains a mark's first character, that character becomes the mark
        which stands for it, so that no value is mistaken for a reference.
        """
        itself = f"{MARK}{mark_itself}{_END}"
        values = {name: variable.value for name, variable in self.scope.variables.items()}
        closed = {name for name, value in values.items() if isinstance(value, Secret)}
        known = {name: _typed(value) for name, value in values.items() if name not in closed}
        open_values = {
            name: value.replace(MARK, itself) if isinstance(value, str) else value
            for name, value in known.items()
        }
        return render(marked, open_values, closed=closed)

    def _statement(self, rendered: str, values: list[Variable], path: str) -> str | None:
        """Return the finished SQL, or None, with a finding, if it is not a statement."""
        texts = [text_within(variable.value) for variable in values]
        numbers = [int(number) for number in _MARKED.findall(rendered)]
        if sum(len(texts[number]) for number in numbers) + len(rendered) > MAX_RENDERED:
            message = f"the result is longer than {MAX_RENDERED:,} characters"
            self._note("template-limit", path, message)
            return None
        try:
            return finished_statement(_MARKED.sub(lambda m: texts[int(m.group(1))], rendered))
        except StatementError as error:
            self._note("bad-sql", path, f"line {error.line} of the finished SQL: {error.message}")
        return None

    def _marked(self, template: str) -> tuple[str, list[Variable]]:
        """Return the text with a mark for each reference, and the values of the marks.

        The last value is the mark's own first character.
        """
        text: list[str] = []
        values: list[Variable] = []
        for piece in split_references(template, self.scope.variables):
            if isinstance(piece, Reference):
                text.append(f"{MARK}{len(values)}{_END}")
                values.append(self._named(piece))
            else:
                text.append(str(piece))
        return "".join(text), [*values, Variable(value=MARK, stored=MARK)]

    def _named(self, reference: Reference) -> Variable:
        """Return the value of a reference that is known to be valid."""
        if reference.kind == "var":
            return self.scope.variables[reference.name]
        return Variable(value=os.environ[reference.name], stored=str(reference))

    def _is_from_environment(self, name: str) -> bool:
        """Return whether the variable's value comes from the environment, at least in part."""
        variable = self.scope.variables.get(name)
        return variable is not None and any(isinstance(p, Reference) for p in _stored(variable))

    def _note(self, rule: str, path: str, message: str, suggestion: str | None = None) -> None:
        """Report a fault at the path; `rule` has no `spec/` prefix."""
        span = self.files.positions.span(path)
        self.files.findings.add(f"spec/{rule}", span, message, key_path=path, suggestion=suggestion)


def _in_template(fault: SqlFault, template: str, sql: str) -> int | None:
    """Return the fault's offset in the template; None if Jinja made it, or it occurs twice."""
    start = template.find(sql)
    if start >= 0:
        return start + fault.offset
    words = sql[fault.offset : fault.offset + fault.length]
    return template.find(words) if len(words) > 1 and template.count(words) == 1 else None


def _typed(value: object) -> ScalarValue:
    """Return a variable as Jinja sees it.

    Text from the command line becomes a boolean or a number if it looks like one; a number only if
    it prints the same, so that `010` and `1e3` reach the SQL unchanged.
    """
    if not isinstance(value, LooseText):
        return value if isinstance(value, str | int | float) else None
    typed = value.typed()
    same = isinstance(typed, bool | str) or (typed is not None and scalar_text(typed) == value)
    return typed if same else str(value)


def _stored(variable: Variable) -> Iterator[str | Reference]:
    """Yield the storable form: its own text, and the references that stay as they are."""
    for piece in split_references(text_within(variable.stored), {}):
        yield piece if isinstance(piece, Reference) else str(piece)


def _storable(rendered: str, values: list[Variable]) -> str:
    """Return a template that renders to the same text, with references to the environment kept."""
    stored, text = "", ""
    for index, part in enumerate(_MARKED.split(rendered)):
        # a split by a pattern with one group yields the text between marks, and their numbers
        for piece in _stored(values[int(part)]) if index % 2 else (part,):
            if isinstance(piece, Reference):
                stored, text = f"{stored}{_escaped(text)}{piece}", ""
            else:
                text += piece
    return stored + _escaped(text)


def _escaped(text: str) -> str:
    """Return literal text escaped for a template."""
    template = as_template(text.replace("${", "$${"))
    # a `$` before a reference would make it literal
    return template[:-1] + "{{ '$' }}" if template.endswith("$") else template
