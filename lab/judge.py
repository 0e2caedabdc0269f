# SPDX-License-Identifier: MIT
"""Verdicts from numbers. A rule is an expression over names of numbers, such as "t2_ms > t1_ms and
calls == 80". Verdicts depend on the numbers and the rules alone, so anybody can repeat them."""

import ast
import operator

CONFIRMED, REFUTED = "confirmed", "refuted"
UNDECIDED = "undecided"  # numbers are there, but do not tell
OUT_OF_REACH = "out of reach here"  # numbers are missing

RULE_MOST = 1000  # characters

OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.USub: operator.neg,
    ast.Not: operator.not_,
}
FUNCTIONS = {"abs": abs, "min": min, "max": max}


class Missing(Exception):
    """A number that was not measured; the text is its name."""


def evaluate(node, numbers):
    """Evaluates arithmetic and comparisons of floats only, because rules also come from files."""
    if isinstance(node, ast.Expression):
        return evaluate(node.body, numbers)
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return float(node.value)
    if isinstance(node, ast.Name):
        if numbers.get(node.id) is None:
            raise Missing(node.id)
        if not isinstance(numbers[node.id], (int, float)):
            raise ValueError(f"{node.id} is not a number")
        return float(numbers[node.id])
    if isinstance(node, ast.BinOp):
        return OPERATORS[type(node.op)](evaluate(node.left, numbers), evaluate(node.right, numbers))
    if isinstance(node, ast.UnaryOp):
        return OPERATORS[type(node.op)](evaluate(node.operand, numbers))
    if isinstance(node, ast.BoolOp):
        values = [evaluate(value, numbers) for value in node.values]
        return all(values) if isinstance(node.op, ast.And) else any(values)
    if isinstance(node, ast.Compare):
        left = evaluate(node.left, numbers)
        for step, right in zip(node.ops, node.comparators):
            right = evaluate(right, numbers)
            if not OPERATORS[type(step)](left, right):
                return False
            left = right
        return True
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS:
        return FUNCTIONS[node.func.id](*(evaluate(argument, numbers) for argument in node.args))
    raise ValueError(f"a rule may not have {type(node).__name__}")


def parse(rule):
    if len(rule) > RULE_MOST:
        raise ValueError(f"a rule may not have more than {RULE_MOST} characters")
    return ast.parse(rule, mode="eval")


def holds(rule, numbers):
    return bool(evaluate(parse(rule), numbers))


def names_in(rule):
    return [
        node.id
        for node in ast.walk(parse(rule))
        if isinstance(node, ast.Name) and node.id not in FUNCTIONS
    ]


def judge(confirmed, refuted, numbers):
    """The verdict; if it is undecided or out of reach, also why."""
    if not confirmed:
        return OUT_OF_REACH, None
    try:
        if holds(confirmed, numbers):
            return CONFIRMED, None
        if holds(refuted, numbers):
            return REFUTED, None
    except Missing as missing:
        return OUT_OF_REACH, f"{missing} was not measured"
    except ZeroDivisionError:
        return UNDECIDED, "a number is 0"
    return UNDECIDED, "the numbers lie between what would confirm it and what would refute it"
