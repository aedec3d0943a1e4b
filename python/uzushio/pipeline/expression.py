"""Expressions over fields, point by point, and over reductions of fields.

The syntax is a subset of Python's: arithmetic, comparisons and the functions listed here. A name
that Python does not read as one, such as core/pressure, is in backticks. Values are computed by
numexpr in blocks that fit the cache.
"""

from __future__ import annotations

import ast
import keyword
import math
import operator
import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import numpy as np

from uzushio._base.config.names import unknown
from uzushio.errors import PipelineError

_OF_ONE = (
    "abs arccos arcsin arctan ceil cos cosh exp expm1 floor log log10 log1p sin sinh sqrt tan tanh"
)
#: Functions of values, with their numbers of arguments.
FUNCTIONS = {**dict.fromkeys(_OF_ONE.split(), 1), "arctan2": 2, "where": 3}
#: Reductions of a field to one number.
REDUCTIONS = ("min", "max", "mean", "sum", "std")
CONSTANTS = {"pi": math.pi}

#: Exceptions of numexpr for an expression that it cannot compute.
_UNCOMPUTABLE = (
    *(TypeError, ValueError, KeyError, AttributeError, NotImplementedError),
    *(ArithmeticError, RecursionError, MemoryError),
)
#: Maximum number of characters of an expression, and of nested operations.
MAX_LENGTH = 4000
MAX_DEPTH = 100
#: Maximum number of characters of an expression in a message.
_SHOWN = 200
#: Largest integer that stays an integer in constants; larger ones become floating-point numbers.
_WHOLE = 2**53

#: Name in backticks, and the beginning of the identifier that stands for it in Python's syntax.
_QUOTED = re.compile(r"`([^`]+)`")
_STANDS_FOR = "quoted_"
_IDENTIFIER = re.compile(rf"\b{_STANDS_FOR}([0-9a-f]+)\b")

_BINARY = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.Mod, ast.BitAnd, ast.BitOr)
_UNARY = (ast.UAdd, ast.USub, ast.Not, ast.Invert)
_COMPARE = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)


def _parse(text: str) -> ast.expr:
    """Parse an expression of limited length and depth, its constants folded."""
    if len(text) > MAX_LENGTH:
        raise PipelineError(
            f"'{shown(text)}' has {len(text)} characters, and the maximum is {MAX_LENGTH}; make "
            "sources of its parts"
        )
    try:
        plain = _QUOTED.sub(lambda match: _identifier(match[1]), text.strip())
        tree = ast.parse(plain, mode="eval").body
    except (RecursionError, MemoryError) as error:
        raise _too_deep(text) from error
    except (SyntaxError, ValueError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else error
        raise PipelineError(f"'{shown(text)}' is no expression ({reason})") from error
    if _deeper(tree, MAX_DEPTH):
        raise _too_deep(text)
    return _Folded(text).visit(tree)  # type: ignore[no-any-return]


def quoted(name: str) -> str:
    """Return a name as an expression has it: in backticks unless Python reads it as a name."""
    return name if all(map(_is_plain, name.split(".", 1))) else f"`{name}`"


def _is_plain(name: str) -> bool:
    """Whether Python reads a name as it is: no keyword, and equal to its normal form."""
    normal = unicodedata.normalize("NFKC", name)
    return name.isidentifier() and not keyword.iskeyword(name) and name == normal


def _identifier(name: str) -> str:
    """Return the identifier of a name in Python's syntax."""
    return name if _is_plain(name) else _STANDS_FOR + name.encode().hex()


def _with_quotes(text: str) -> str:
    """Return an expression of Python with the names in backticks that identifiers stand for."""
    return _IDENTIFIER.sub(lambda match: f"`{bytes.fromhex(match[1]).decode()}`", text)


def shown(text: str) -> str:
    """Shorten an expression for a message."""
    text = _with_quotes(text)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]} …"


def _too_deep(text: str) -> PipelineError:
    return PipelineError(
        f"'{shown(text)}' has more than {MAX_DEPTH} nested operations; make sources of its parts"
    )


def _deeper(node: ast.expr, limit: int) -> bool:
    """Whether operations are nested deeper than `limit`; not recursive, as Python limits that too.

    The operators of a sum are nested as well: a + b + c is (a + b) + c.
    """
    level: list[ast.AST] = [node]
    for _ in range(limit):
        level = [below for node in level for below in ast.iter_child_nodes(node)]
        if not level:
            return False
    return True


class _Folded(ast.NodeTransformer):
    """Folding of constants, which Python would compute with integers of any length."""

    def __init__(self, text: str) -> None:
        self._text = text

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        value: Any = node.value
        if type(node.value) is float or (type(node.value) is int and abs(node.value) > _WHOLE):
            return self._constant(lambda: float(value), node)
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        inside = node.operand = self.visit(node.operand)
        if isinstance(node.op, (ast.UAdd, ast.USub)) and _is_number(inside):
            sign = -1 if isinstance(node.op, ast.USub) else 1
            return self._constant(lambda: sign * inside.value, node)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        left, right = node.left, node.right = self.visit(node.left), self.visit(node.right)
        compute = _ARITHMETIC.get(type(node.op))
        if compute is None or not (_is_number(left) and _is_number(right)):
            return node
        return self._constant(lambda: compute(left.value, right.value), node)

    def _constant(self, compute: Callable[[], int | float], node: ast.expr) -> ast.expr:
        """Return the constant result of an operation; raises `PipelineError` if it has none."""
        try:
            value = compute()
        except OverflowError as error:
            text = f"'{shown(self._text)}': {_brief(node)} is beyond the largest number"
            raise PipelineError(text) from error
        except ZeroDivisionError as error:
            raise PipelineError(f"'{shown(self._text)}': {_brief(node)} divides by 0") from error
        if isinstance(value, complex) or not math.isfinite(value):
            raise PipelineError(f"'{shown(self._text)}': {_brief(node)} is no finite number")
        return ast.Constant(value)


def _brief(node: ast.expr) -> str:
    try:
        return shown(ast.unparse(node))
    except ValueError:  # more digits than Python writes
        return "a constant"


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def _whole(value: float, exact: bool) -> int | float:
    """Return a result of integers as an integer if that is exact."""
    return int(value) if exact and abs(value) <= _WHOLE and value.is_integer() else value


def _power(base: float, exponent: float) -> int | float:
    exact = isinstance(base, int) and isinstance(exponent, int) and exponent >= 0
    return _whole(float(base) ** float(exponent), exact)


def _product(factor: float, other: float) -> int | float:
    exact = isinstance(factor, int) and isinstance(other, int)
    return _whole(float(factor) * float(other), exact)


_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], int | float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: _product,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}


def _dotted(node: ast.expr) -> str | None:
    """Return the variable name of a node, such as "u" or "velocity.x"; None if it is none."""
    if isinstance(node, ast.Name):
        return _with_quotes(node.id).strip("`")
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{_dotted(node.value)}.{node.attr}"
    return None


class _Checked(ast.NodeTransformer):
    """Check for arithmetic; renames variables, and writes logic in numexpr's operators."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.names: dict[str, str] = {}  # from the name in the file to numexpr's

    def generic_visit(self, node: ast.AST) -> NoReturn:
        known = isinstance(node, ast.expr)
        term = _with_quotes(ast.unparse(node)) if known else type(node).__name__
        raise PipelineError(f"'{shown(self._text)}': {term} is not arithmetic")

    def visit_Name(self, node: ast.Name | ast.Attribute) -> ast.expr:
        name = _dotted(node)
        if name is None:
            self.generic_visit(node)
        return ast.Name(self.names.setdefault(name, f"v{len(self.names)}"), ast.Load())

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return self.visit_Name(node)

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if isinstance(node.value, (int, float)):
            return node
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        if not isinstance(node.op, _BINARY):
            self.generic_visit(node)
        return ast.BinOp(self.visit(node.left), node.op, self.visit(node.right))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        if not isinstance(node.op, _UNARY):
            self.generic_visit(node)
        inverted = isinstance(node.op, (ast.Not, ast.Invert))
        return ast.UnaryOp(ast.Invert() if inverted else node.op, self.visit(node.operand))

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        first, *others = map(self.visit, node.values)
        for other in others:
            operator = ast.BitAnd() if isinstance(node.op, ast.And) else ast.BitOr()
            first = ast.BinOp(first, operator, other)
        return first  # type: ignore[no-any-return]

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        if not all(isinstance(operator, _COMPARE) for operator in node.ops):
            self.generic_visit(node)
        sides = [self.visit(side) for side in (node.left, *node.comparators)]
        pairs = [
            ast.Compare(left, [operator], [right])
            for left, operator, right in zip(sides, node.ops, sides[1:], strict=False)
        ]
        whole: ast.expr = pairs[0]
        for pair in pairs[1:]:
            whole = ast.BinOp(whole, ast.BitAnd(), pair)
        return whole

    def visit_Call(self, node: ast.Call) -> ast.expr:
        name = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)
        if name in REDUCTIONS:
            raise PipelineError(
                f"'{shown(self._text)}': {name} reduces a field to one number, which only "
                "triggers and time series accept"
            )
        if name not in FUNCTIONS:
            raise PipelineError(f"'{shown(self._text)}': the function '{name}' {_known(name)}")
        if len(node.args) != FUNCTIONS[name] or node.keywords:
            raise PipelineError(f"'{shown(self._text)}': {name} takes {FUNCTIONS[name]} arguments")
        return ast.Call(ast.Name(name, ast.Load()), [self.visit(arg) for arg in node.args], [])


def _known(name: str) -> str:
    return unknown(name, [*FUNCTIONS, *REDUCTIONS])


class FieldExpression:
    """Expression of fields, point by point.

    Attributes:
        text: text in the file.
        names: names of fields, numbers and coordinates in it, in order.
    """

    def __init__(self, text: str) -> None:
        """Parse the text; raises `PipelineError` if it is not arithmetic."""
        self.text = _with_quotes(text)
        checked = _Checked(text)
        self._code = ast.unparse(ast.fix_missing_locations(checked.visit(_parse(text))))
        self._variables = checked.names
        self.names = tuple(checked.names)

    def __call__(
        self, values: Mapping[str, np.ndarray | float], out: np.ndarray | None = None
    ) -> np.ndarray:
        """Evaluate the expression.

        Args:
            values: one for each of `names`; arrays that broadcast to one shape, and numbers.
            out: array for the result.

        Raises:
            PipelineError: the types do not fit its functions.
        """
        import numexpr

        from uzushio.raycast import default_threads

        numexpr.set_num_threads(default_threads())
        known = {variable: values[name] for name, variable in self._variables.items()}
        try:
            with np.errstate(all="ignore"):  # for functions of constants
                result = numexpr.evaluate(
                    self._code, local_dict=known, global_dict={}, out=out, casting="unsafe"
                )
        except _UNCOMPUTABLE as error:
            raise PipelineError(f"'{shown(self.text)}' cannot be computed ({error})") from error
        return np.asarray(result)


class ScalarExpression:
    """Expression of reductions over fields, and of numbers: "max(abs(u)) > 25".

    Attributes:
        text: text in the file.
        reductions: (name, expression of fields) of each reduction.
        names: names of numbers outside reductions.
    """

    def __init__(self, text: str) -> None:
        """Parse the text; raises `PipelineError` if it is not arithmetic of reductions."""
        self.text = text
        self.reductions: list[tuple[str, FieldExpression]] = []
        self.names: list[str] = []
        tree = ast.fix_missing_locations(ast.Expression(self._visit(_parse(text))))
        self._code = compile(tree, "<expression>", "eval")

    def _visit(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            name = node.func.id
            if name in REDUCTIONS and len(node.args) == 1 and not node.keywords:
                self.reductions.append((name, FieldExpression(ast.unparse(node.args[0]))))
                return ast.Name(f"_{len(self.reductions) - 1}", ast.Load())
            if name in FUNCTIONS and len(node.args) == FUNCTIONS[name] and not node.keywords:
                return ast.Call(node.func, [self._visit(arg) for arg in node.args], [])
            if name not in FUNCTIONS and name not in REDUCTIONS:
                raise PipelineError(f"'{shown(self.text)}': the function '{name}' {_known(name)}")
            count = 1 if name in REDUCTIONS else FUNCTIONS[name]
            raise PipelineError(f"'{shown(self.text)}': {name} takes {count} arguments")
        if isinstance(node, ast.Name):
            self.names.append(_with_quotes(node.id).strip("`"))
            return ast.Name(f"n_{node.id}", ast.Load())
        if isinstance(node, ast.BinOp) and isinstance(node.op, _BINARY):
            return ast.BinOp(self._visit(node.left), node.op, self._visit(node.right))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, _UNARY):
            return ast.UnaryOp(node.op, self._visit(node.operand))
        if isinstance(node, ast.BoolOp):
            return ast.BoolOp(node.op, [self._visit(value) for value in node.values])
        if isinstance(node, ast.Compare) and all(isinstance(op, _COMPARE) for op in node.ops):
            sides = [self._visit(side) for side in node.comparators]
            return ast.Compare(self._visit(node.left), node.ops, sides)
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return ast.Constant(float(node.value))
        raise PipelineError(
            f"'{shown(self.text)}': {_with_quotes(ast.unparse(node))} is not arithmetic of numbers"
        )

    def __call__(self, reduced: list[float], numbers: Mapping[str, float]) -> float:
        """Evaluate with the values of the reductions, in order; comparisons are 0 or 1."""
        known: dict[str, Any] = {f"_{at}": np.float64(value) for at, value in enumerate(reduced)}
        known |= {f"n_{_identifier(name)}": np.float64(numbers[name]) for name in self.names}
        with np.errstate(all="ignore"):
            return float(eval(self._code, {"__builtins__": {}, **_SCALAR_FUNCTIONS}, known))


_SCALAR_FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: (np.abs if name == "abs" else getattr(np, name)) for name in FUNCTIONS
}
