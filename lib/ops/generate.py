#!/usr/bin/env python3
"""Writes the typed C++ functions of ops from the text of their blocks.

    generate.py --header ops.h --source ops.cc [--namespace panto] [--no-export] [--no-docs] FILE.cc...
    generate.py --types family_types.h FILE.cc...

In each FILE.cc it reads every

    const Op& kMatMul = define_op("MatMul(a: T, b: T; transpose_a: bool = false, T: numeric) -> (product: T)",
                                  {.doc = "Matrix product of ...", .cpp = "matmul", ...});

and writes, into the namespace,

    extern const Op& kMatMul;
    struct MatMulAttrs { bool transpose_a = false; };
    Tensor matmul(Arg a, Arg b, const MatMulAttrs& attrs = {});

with a doc comment. With --no-docs there is none: headers that this repository itself is compiled with do not change
with a doc. The grammar of signatures is that of lib/core/op/signature.h, which another program reads: panto-signatures,
built of the library's own parser and found beside this file where both are installed. The signature, `.doc` and `.cpp`
must be plain string literals (adjacent ones are joined). A function's name is `.cpp`, or the op's name in snake case
without its version (ConcatV2: concat). Its parameters are the inputs, then the attributes that have no default and do
not follow from the inputs, then a struct of those that have one. An attribute named like a C++ keyword gets a trailing
underscore. The header may be asked for without the source.

A plug-in's own ops get their functions the same way:

    generate.py --namespace my_ops --no-export --header my_ops.h --source my_ops_functions.cc my_ops.cc

Its blocks must then be in that namespace. The second form writes the sets of types that ops allow and what an element
costs, for kernels that are made for each of them (device/op_kernels.h). Exit status 1 and one `file:line: error: ...`
line for what it cannot read.
"""
import argparse
import dataclasses
import json
import pathlib
import re
import subprocess
import sys

WIDTH = 120

# ---- C++ text -> op blocks -------------------------------------------------------------------------------------------

TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/|\\\n)
      | (?P<raw>(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]{0,16})\(.*?\)(?P=delimiter)")
      | (?P<string>(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*")
      | (?P<char>'(?:[^'\\\n]|\\.)+')
      | (?P<number>\.?\d(?:[eEpP][+-]|'?[\w.])*)
      | (?P<word>[A-Za-z_]\w*)
      | (?P<other>.)""",
    re.DOTALL | re.VERBOSE)

ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", '"': '"', "'": "'", "0": "\0"}


class Fault(Exception):
    """What is wrong, and where."""

    def __init__(self, path, line, text):
        super().__init__(f"{path}:{line}: error: {text}")


@dataclasses.dataclass
class Token:
    kind: str
    text: str
    line: int


@dataclasses.dataclass
class Block:
    path: pathlib.Path
    line: int
    variable: str
    text: str  # of the signature
    doc: str
    cpp: str
    primary: str  # the type attribute that selects the kernel, where it is not the first one
    flops: int    # of an element; 0 where the block does not say so many for each
    signature: "Signature" = None


def tokenize(path, text):
    tokens, line, at = [], 1, 0
    while at < len(text):
        match = TOKEN.match(text, at)
        if text.startswith("/*", at) and match.lastgroup != "space":
            raise Fault(path, line, "comment without end")
        if match.lastgroup == "other" and match.group() in "\"'":
            raise Fault(path, line, "literal without end")
        # The named group of the delimiter is the last one matched inside a raw string.
        kind = "raw" if match.lastgroup == "delimiter" else match.lastgroup
        if kind != "space":
            tokens.append(Token(kind, match.group(), line))
        line += match.group().count("\n")
        at = match.end()
    return tokens


def literal_value(path, token):
    if token.kind == "raw":
        return token.text[token.text.index("(") + 1:token.text.rindex(")")]
    if not token.text.startswith('"'):
        raise Fault(path, token.line, f"expected a plain string literal, got {token.text}")

    def unescape(match):
        if match.group(1) not in ESCAPES:
            raise Fault(path, token.line, f"escape sequence \\{match.group(1)} is not understood here")
        return ESCAPES[match.group(1)]

    return re.sub(r"\\(.)", unescape, token.text[1:-1], flags=re.DOTALL)


class Reader:
    """Finds the op blocks of one file."""

    OPEN, CLOSE = "([{", ")]}"

    def __init__(self, path, text):
        self.path = path
        self.tokens = tokenize(path, text)

    def text(self, i):
        return self.tokens[i].text if 0 <= i < len(self.tokens) else ""

    def fail(self, i, text):
        line = self.tokens[min(i, len(self.tokens) - 1)].line if self.tokens else 1
        raise Fault(self.path, line, text)

    def literals(self, i, what):
        """The value of the adjacent string literals at token i, and the position after them."""
        value, start = "", i
        while i < len(self.tokens) and self.tokens[i].kind in ("string", "raw"):
            value += literal_value(self.path, self.tokens[i])
            i += 1
        if i == start:
            self.fail(i, f"{what}: expected a string literal, got {self.text(i) or 'the end of the file'}")
        return value, i

    def blocks(self):
        i = 0
        while i < len(self.tokens):
            if self.tokens[i].kind == "word" and self.text(i) == "define_op" and self.text(i + 1) == "(":
                block, i = self.block(i)
                yield block
            else:
                i += 1

    def block(self, i):
        start = i
        before = [t.text for t in self.tokens[max(0, i - 14):i]]
        while before[-3:] and before[-2:] == [":", ":"]:  # panto::define_op
            before = before[:-3] if re.match(r"[A-Za-z_]", before[-3]) else before[:-2]
        if len(before) < 5 or before[-1] != "=" or before[-3] != "&" or before[-4] != "Op" or "const" not in before:
            self.fail(start, "define_op: expected `const Op& kName = define_op(\"signature\", {...})`")
        variable = before[-2]
        if not re.fullmatch(r"k[A-Z]\w*", variable):
            self.fail(start, f"name of the op's reference: expected kName, got {variable}")
        if "static" in before[:-4]:
            self.fail(start, f"{variable}: expected external linkage, got static")
        line = self.tokens[i + 2].line if i + 2 < len(self.tokens) else self.tokens[i].line
        signature_at = i + 2
        signature, i = self.literals(signature_at, "signature")
        fields = {"doc": "", "cpp": "", "primary": ""}
        if self.text(i) != "," or self.text(i + 1) != "{":
            self.fail(i, f"block of {variable}: expected `, {{`, got {self.text(i) or 'the end of the file'}")
        i += 2
        depth, flops = 1, 0
        while depth > 0:
            if i >= len(self.tokens):
                self.fail(start, f"block of {variable} has no end")
            token = self.tokens[i]
            if token.kind == "other" and token.text in self.OPEN:
                depth += 1
            elif token.kind == "other" and token.text in self.CLOSE:
                depth -= 1
            elif depth == 1 and token.text == "." and self.text(i - 1) in ("{", ",") and self.text(i + 2) == "=":
                name = self.text(i + 1)
                if name in fields:
                    fields[name], i = self.literals(i + 3, f".{name} of {variable}")
                    if self.text(i) not in (",", "}"):
                        self.fail(i, f".{name} of {variable}: expected string literals only, got {self.text(i)}")
                    continue
                if name == "flops" and self.text(i + 3) == "flops_each" and self.text(i + 4) == "<":
                    flops = int(self.text(i + 5))
                i += 2
            i += 1
        return Block(self.path, line, variable, signature, **fields, flops=flops), i


# ---- Signatures ------------------------------------------------------------------------------------------------------

# kind of attribute -> type of the member or parameter
CPP_TYPES = {
    "int": "int64_t", "float": "float", "bool": "bool", "string": "std::string", "type": "DType",
    "shape": "PartialShape", "tensor": "Tensor", "func": "FunctionRef",
    "list(int)": "std::vector<int64_t>", "list(float)": "std::vector<float>", "list(bool)": "std::vector<uint8_t>",
    "list(type)": "std::vector<DType>", "list(string)": "std::vector<std::string>",
    "list(shape)": "std::vector<PartialShape>", "list(func)": "std::vector<FunctionRef>",
}


@dataclasses.dataclass
class ArgDef:
    name: str
    type: str      # a dtype or the name of a type attribute
    number: str    # the int attribute that counts a list
    is_list: bool
    host: bool
    default: str   # C++ text, or None

    def __post_init__(self):
        if self.default == "all":
            self.default = "Arg::all_axes()"


@dataclasses.dataclass
class AttrDef:
    name: str
    kind: str
    types: list            # the terms of the set of allowed types; none: all
    allowed_strings: list
    minimum: int           # or None
    default: str           # C++ text, or None
    inferred: bool         # follows from the inputs

    def __post_init__(self):
        if self.default is not None:
            self.default = cpp_value(self.kind, self.default)

    def types_text(self):
        return "".join(term["sign"] + term["word"] for term in self.types)[1:]


@dataclasses.dataclass
class Signature:
    name: str
    base_name: str      # without version
    function_name: str
    inputs: list
    attrs: list
    outputs: list

    def __post_init__(self):
        self.inputs, self.outputs = ([ArgDef(**arg) for arg in args] for args in (self.inputs, self.outputs))
        self.attrs = [AttrDef(**attr) for attr in self.attrs]

    def attr(self, name):
        return next((a for a in self.attrs if a.name == name), None)


def parse_signatures(program, blocks):
    """Sets the signatures of blocks, as the program reads their texts."""
    # Each text ends with a zero byte: define_op takes it as C does.
    texts = [block.text.partition("\0")[0].encode() + b"\0" for block in blocks]
    try:
        printed = subprocess.run([program], input=b"".join(texts), stdout=subprocess.PIPE, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise Fault(program, 1, f"cannot be run: {error}") from None
    for block, parsed in zip(blocks, json.loads(printed.decode(errors="surrogateescape")), strict=True):
        if "column" in parsed:
            got = f", got '{parsed['got']}'" if parsed["got"] else ""
            fault = f"column {parsed['column']}: expected {parsed['expected']}{got}"
            raise Fault(block.path, block.line, f"signature: {fault}; in \"{block.text}\"")
        block.signature = Signature(**parsed)


def constant(dtype):
    """The name of a DType in C++."""
    if dtype == "bfloat16":
        return "kBFloat16"
    return "kQ" + dtype[1:].capitalize() if dtype.startswith(("qint", "quint")) else "k" + dtype.capitalize()


def string_literal(text):
    """A string in C++. Octal escapes end after three digits, whatever follows."""
    simple = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    characters = [simple.get(c, c) for c in text.encode(errors="surrogateescape").decode("latin-1")]
    return '"' + "".join(c if " " <= c[0] <= "~" else f"\\{ord(c):03o}" for c in characters) + '"'


def float_text(number):
    sign, digits = ("-", number[1:]) if number.startswith("-") else ("", number)
    if digits[0] in "iI":
        return sign + "std::numeric_limits<float>::infinity()"
    if digits[0] in "nN":
        return "std::numeric_limits<float>::quiet_NaN()"
    return (number if re.search(r"[.eE]", number) else number + ".0") + "f"


def shape_text(dims):
    if dims == "?":
        return "{}"  # of unknown rank
    dims = ["-1" if dim == "?" else dim for dim in dims]
    return "{" + ", ".join(dims) + "}" if dims else "PartialShape(std::initializer_list<Dim>{})"


def cpp_value(kind, value):
    """C++ text for the default of an attribute."""
    if kind.startswith("list("):
        return "{" + ", ".join(cpp_value(kind[5:-1], item) for item in value) + "}"
    write = {"float": float_text, "string": string_literal, "type": constant, "shape": shape_text}
    return write.get(kind, str)(value)


# ---- Functions -------------------------------------------------------------------------------------------------------

KEYWORDS = set("""alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t
class compl concept const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default
delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable
namespace new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires
return short signed sizeof static static_assert static_cast struct switch template this thread_local throw true try
typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq""".split())
LOCALS = {"attrs", "args", "slots", "where", "outputs", "result"}


def cpp_word(name, taken=frozenset()):
    return name + "_" if name in KEYWORDS or name in taken else name


def wrap_comment(text, indent="// ", first=None):
    """Lines of a comment, broken at spaces; line breaks in the text stay."""
    lines = []
    for paragraph in text.strip().split("\n"):
        words, line = paragraph.split(" "), ""
        lead = first if first is not None and not lines else indent
        for word in words:
            if line and len(lead) + len(line) + 1 + len(word) > WIDTH:
                lines.append((lead + line).rstrip())
                lead, line = indent, word
            else:
                line = f"{line} {word}" if line else word
        lines.append((lead + line).rstrip())
    return lines


def wrap_call(head, items, tail):
    """`head(item, item)tail`, on several lines where it is long."""
    line = head + ", ".join(items) + tail
    if len(line) <= WIDTH:
        return line
    pad = " " * len(head)
    if any(len(pad + item) >= WIDTH for item in items):
        pad = "    "
    lines, line = [], head
    for i, item in enumerate(items):
        item += tail if i + 1 == len(items) else ","
        if line.strip() and line != head and len(line) + 1 + len(item) > WIDTH:
            lines.append(line)
            line = pad + item
        else:
            line += item if line == head or line == pad else " " + item
    return "\n".join(lines + [line])


class Function:
    """One op's typed function."""

    def __init__(self, block):
        self.block = block
        self.signature = s = block.signature
        self.name = block.cpp or s.function_name
        if not re.fullmatch(r"[a-z_]\w*", self.name):
            self.fail(f"C++ name: expected lower case, got {self.name}")
        if self.name in KEYWORDS:
            self.fail(f"{self.name} is a C++ keyword: give another name in .cpp")
        self.struct = s.base_name.lstrip("_")  # _FusedMatMul: the name would be reserved
        self.required = [a for a in s.attrs if a.default is None and not a.inferred]
        self.optional = [a for a in s.attrs if a.default is not None and not a.inferred]
        self.parameter = {item.name: cpp_word(item.name, LOCALS) for item in s.inputs + self.required}
        self.needs_where = not s.inputs
        self.check_defaults()

    def fail(self, text):
        raise Fault(self.block.path, self.block.line, f"{self.signature.name}: {text}")

    def check_defaults(self):
        before = None
        for item in self.signature.inputs + self.required:
            if item.default is not None:
                before = item.name
            elif before:
                self.fail(f"{item.name} has no default and follows {before}, which has one")

    # -- types

    def result_type(self):
        outputs = self.signature.outputs
        if not outputs:
            return "void"
        if len(outputs) > 1:
            return self.struct + "Outputs"
        return "std::vector<Tensor>" if outputs[0].is_list else "Tensor"

    def parameters(self, with_defaults):
        items = []
        for arg in self.signature.inputs:
            kind = "const ArgList&" if arg.is_list else "Arg"
            default = f" = {arg.default}" if with_defaults and arg.default is not None else ""
            items.append(f"{kind} {self.parameter[arg.name]}{default}")
        for attr in self.required:
            kind = CPP_TYPES[attr.kind]
            if kind.startswith("std::") or kind in ("PartialShape", "Tensor"):
                kind = f"const {kind}&"
            items.append(f"{kind} {self.parameter[attr.name]}")
        if self.optional:
            items.append(f"const {self.struct}Attrs& attrs" + (" = {}" if with_defaults else ""))
        if self.needs_where:
            items.append("std::source_location where" +
                         (" = std::source_location::current()" if with_defaults else ""))
        return items

    # -- header

    def attrs_struct(self):
        lines = [f"struct {self.struct}Attrs {{"]
        for attr in self.optional:
            # "= {}" too: g++ 12 warns of a designated initializer that leaves out a member without a default.
            default = attr.default
            if attr.kind == "list(int)" and default != "{}":
                default = f"panto::detail::int_list({default})"  # whoever includes it compiles no constructor of vectors
            lines.append(f"  {CPP_TYPES[attr.kind]} {cpp_word(attr.name)} = {default};{self.domain(attr)}")
        return lines + ["};"]

    @staticmethod
    def domain(attr):
        facts = []
        if attr.allowed_strings:
            facts.append(" or ".join(map(string_literal, attr.allowed_strings)))
        if attr.types and attr.types_text() != "any":
            facts.append(attr.types_text())
        if attr.minimum is not None:
            facts.append(f">= {attr.minimum}")
        return "  // " + ", ".join(facts) if facts else ""

    def outputs_struct(self):
        lines = [f"struct {self.struct}Outputs {{"]
        for out in self.signature.outputs:
            kind = "std::vector<Tensor>" if out.is_list else "Tensor"
            lines.append(f"  {kind} {cpp_word(out.name)};  // {out.type}")
        names = ", ".join(f'"{cpp_word(out.name)}"' for out in self.signature.outputs)
        return lines + [f"  static constexpr const char* kNames[] = {{{names}}};", "};"]

    def kind(self, attr):
        """What an attribute without default may be."""
        domain = self.domain(attr)[len("  // "):]
        return f"type: {attr.types_text()}" if attr.types else attr.kind + (f", {domain}" if domain else "")

    def describe(self, arg):
        text = f"{arg.number} tensors of type {arg.type}" if arg.number else arg.type
        if not arg.number and arg.is_list:
            text = f"tensors of types {arg.type}"
        return text + (", in host memory" if arg.host else "")

    def doc(self):
        s = self.signature
        lines = wrap_comment(self.block.doc or s.name)
        rows = []
        for arg in s.inputs:
            text = self.describe(arg)
            if rows and rows[-1][1] == text and len(rows[-1][0]) + len(arg.name) < 40:
                rows[-1] = (f"{rows[-1][0]}, {arg.name}", text)
            else:
                rows.append((arg.name, text))
        rows += [(a.name, self.kind(a)) for a in self.required]
        if s.outputs:
            rows.append(("returns", ", ".join(f"{out.name}: {self.describe(out)}" for out in s.outputs)))
        shown = {a.name for a in self.required + self.optional}
        rows += [(a.name, a.types_text() or "any") for a in s.attrs if a.kind == "type" and a.name not in shown]
        if rows:
            width = max(len(name) for name, _ in rows)
            lines.append("//")
            for name, text in rows:
                lines += wrap_comment(text, "//   " + " " * (width + 2), f"//   {name:{width}}  ")
        return lines

    def declaration(self, export):
        head = f"{export}{self.result_type()} {self.name}("
        return wrap_call(head, self.parameters(True), ");").split("\n")

    # -- source

    def slots(self):
        values = []
        for attr in self.signature.attrs:
            if attr.inferred:
                values.append("{}")
            elif attr.default is None:
                values.append(self.parameter[attr.name])
            else:
                values.append(f"attrs.{cpp_word(attr.name)}")
        return values

    def where(self):
        if self.needs_where:
            return "where"
        return f"{self.parameter[self.signature.inputs[0].name]}.where()"

    def list_size(self, out):
        """C++ text for the number of tensors of a list output."""
        s = self.signature
        for arg in s.inputs:
            if (arg.number and arg.number == out.number) or (not out.number and arg.type == out.type and arg.is_list):
                return f"{self.parameter[arg.name]}.tensors().size()"
        if out.number:
            attr = s.attr(out.number)
            value = self.parameter[attr.name] if attr.default is None else f"attrs.{cpp_word(attr.name)}"
            return f"static_cast<size_t>({value})"
        attr = s.attr(out.type)
        value = self.parameter[attr.name] if attr.default is None else f"attrs.{cpp_word(attr.name)}"
        return f"{value}.size()"

    def body(self):
        s = self.signature
        lists = any(arg.is_list for arg in s.inputs)
        simple = not lists and bool(s.inputs) and self.result_type() == "Tensor"
        lines = []
        names = [f"&{self.parameter[arg.name]}" for arg in s.inputs]
        if simple:
            lines.append(wrap_call("  Arg* args[] = {", names, "};"))
        elif names:
            lines.append(wrap_call("  dispatch::TypedArg args[] = {", names, "};"))
        if s.attrs:
            lines.append(wrap_call("  AttrSlot slots[] = {", self.slots(), "};"))
        args, slots = "args" if names else "{}", "slots" if s.attrs else "{}"
        if simple:
            lines.append(f"  return dispatch::call_typed_1({self.block.variable}, {args}, {slots});")
            return lines
        call = wrap_call("dispatch::call_typed(", [self.block.variable, args, slots, self.where()], ")")
        if not s.outputs:
            return lines + [f"  {call};"]
        if self.result_type() == "Tensor":
            return lines + [f"  return std::move({call}[0]);"]
        lines.append(f"  dispatch::Outputs outputs = {call};")
        if self.result_type().startswith("std::vector"):
            lines.append("  return {std::make_move_iterator(outputs.begin()), std::make_move_iterator(outputs.end())};")
            return lines
        return lines + self.unpack()

    def unpack(self):
        s = self.signature
        if not any(out.is_list for out in s.outputs):
            items = [f"std::move(outputs[{i}])" for i in range(len(s.outputs))]
            return [wrap_call("  return {", items, "};")]
        lines = [f"  {self.struct}Outputs result;", "  auto next = std::make_move_iterator(outputs.begin());"]
        for out in s.outputs:
            name = cpp_word(out.name)
            if out.is_list:
                lines.append(f"  for (size_t n = {self.list_size(out)}; n > 0; --n) result.{name}.push_back(*next++);")
            else:
                lines.append(f"  result.{name} = *next++;")
        return lines + ["  return result;"]

    def definition(self):
        head = f"{self.result_type()} {self.name}("
        return wrap_call(head, self.parameters(False), ") {").split("\n") + self.body() + ["}"]


# ---- Files -----------------------------------------------------------------------------------------------------------

HEADER_INTRO = """\
// Typed functions of ops. Generated by generate.py from the op blocks: do not edit.
//
// Each takes what the op takes: inputs (tensors, variables, numbers, lists of integers), attributes without a default,
// and a struct of those with one: matmul(a, b, {.transpose_b = true}). All throw panto::Error.
//
// Sets of types in the comments: any; plain: all but string, resource and variant; numeric: real or complex;
// real: floating or integer; floating: float16, bfloat16, float32, float64; integer: signed or uint8 to uint64;
// signed: int8 to int64; index: int32, int64; complex: complex64, complex128; quantized: qint8, quint8,
// qint16, quint16, qint32."""


def qualified(namespace):
    return [] if namespace == "panto" or namespace.startswith("panto::") else ["using namespace panto;"]


def check_names(functions):
    for what, key in (("reference", lambda f: f.block.variable), ("op", lambda f: f.signature.name),
                      ("C++ function", lambda f: f.name)):
        seen = {}
        for function in functions:
            other = seen.setdefault(key(function), function)
            if other is not function:
                function.fail(f"{what} {key(function)} is also at {other.block.path}:{other.block.line}")
    structs = {}
    for function in functions:
        if structs.setdefault(function.struct, function) is not function:
            # FooV2 beside Foo; where FooV2 came first, and is called Foo, the older one is the first version.
            name = function.signature.name
            function.struct = name + "V1" if name in structs else name
            structs[function.struct] = function


def header(functions, options):
    # On the namespace: an attribute on each declaration takes half of what that takes to compile. Nested ones take none.
    nested = "::" in options.namespace
    on_namespace = "" if options.no_export or nested else "PANTO_EXPORT "
    export = "" if options.no_export or not nested else "PANTO_EXPORT "
    lines = HEADER_INTRO.split("\n") + ["#pragma once", "", "#include <cstdint>"]
    if any("numeric_limits" in str(a.default) for f in functions for a in f.optional):
        lines.append("#include <limits>")
    lines += ["#include <source_location>", "#include <string>", "#include <vector>", ""]
    if not options.no_export:
        lines.append('#include "panto/lib/base/export.h"')
    lines.append('#include "panto/lib/core/call/arg.h"')
    if any(a.kind.endswith(("func", "func)")) for f in functions for a in f.signature.attrs):
        lines.append('#include "panto/lib/core/op/attr.h"')
    if options.namespace == "panto":
        lines += ["", f"namespace panto {on_namespace}{{", "", "class Op;", ""]
    else:
        lines += ["", "namespace panto {", "class Op;", "}", "", f"namespace {options.namespace} {on_namespace}{{", ""]
        lines += [line + "\n" for line in qualified(options.namespace)]
    path = None
    for function in functions:
        if function.block.path != path and len({f.block.path for f in functions}) > 1:
            lines += [f"// ---- {function.block.path.stem} " .ljust(WIDTH, "-"), ""]
        path = function.block.path
        if function.optional:
            lines += function.attrs_struct()
        if len(function.signature.outputs) > 1:
            lines += function.outputs_struct()
        if not options.no_docs:
            lines += function.doc()
        lines += function.declaration(export)
        lines += [f"extern {export}const Op& {function.block.variable};", ""]
    return "\n".join(lines + [f"}}  // namespace {options.namespace}"]) + "\n"


def source(functions, options):
    lines = ["// Generated by generate.py from the op blocks: do not edit.",
             f'#include "{pathlib.Path(options.header).name}"', "",
             "#include <iterator>", "#include <utility>", "",
             '#include "panto/lib/core/op/attr.h"', '#include "panto/lib/core/call/dispatch.h"',
             "", f"namespace {options.namespace} {{", ""]
    lines += [line + "\n" for line in qualified(options.namespace)]
    for function in functions:
        lines += function.definition() + [""]
    return "\n".join(lines + [f"}}  // namespace {options.namespace}"]) + "\n"


def primary_types(block):
    """C++ text of the set of types that select the op's kernel; None for an op without such."""
    s = block.signature
    typed = [arg.type for arg in s.inputs + s.outputs if getattr(s.attr(arg.type), "kind", "") == "type"]
    name = block.primary or next(iter(typed), None)
    if name is None:
        return None
    result, last = "", None
    for term in s.attr(name).types or [{"sign": "|", "word": "any", "is_set": True}]:
        types = f"dtypes::{constant(term['word'])}" if term["is_set"] else f"DTypeSet{{{constant(term['word'])}}}"
        if result:
            # From left to right, as the signature means it: in C++ a difference comes first.
            result = result if last in (None, term["sign"]) else f"({result})"
            result, last = f"{result} {term['sign']} {types}", term["sign"]
        else:
            result = types
    return result


def types_header(functions):
    lines = ["// What kernels of these ops are made for. Generated by generate.py from the op blocks: do not edit.", "#pragma once",
             "", '#include "panto/lib/core/op/op_types.h"', "", "namespace panto {", ""]
    for function in functions:
        types = primary_types(function.block)
        if types is not None:
            lines += ["template <>", f'struct OpTypes<"{function.signature.name}"> {{',
                      f"  static constexpr DTypeSet kTypes = {types};",
                      f"  static constexpr int kFlops = {function.block.flops};", "};"]
    return "\n".join(lines + ["", "}  // namespace panto"]) + "\n"


def write(path, text):
    """Keeps the time of a file that would not change, so that nothing is compiled again."""
    path = pathlib.Path(path)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--header", help="the header to write")
    parser.add_argument("--source", help="the source file to write")
    parser.add_argument("--types", help="the header of the ops' types to write")
    parser.add_argument("--namespace", default="panto", help="where the op blocks are (default: %(default)s)")
    parser.add_argument("--no-export", action="store_true", help="without PANTO_EXPORT: for plug-ins")
    parser.add_argument("--no-docs", action="store_true", help="without doc comments: an edited doc changes no header")
    parser.add_argument("--signatures", metavar="PROGRAM", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().with_name("panto-signatures"),
                        help="the program that reads signatures (default: panto-signatures beside this file)")
    parser.add_argument("files", nargs="+", type=pathlib.Path, metavar="FILE.cc")
    options = parser.parse_args()
    if options.source and not options.header or not (options.header or options.types):
        parser.error("expected --header, with --source or without, or --types")
    try:
        blocks = []
        for path in options.files:
            try:
                text = path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise Fault(path, 1, f"cannot be read: {error}") from None
            blocks += Reader(path, text).blocks()
        parse_signatures(options.signatures, blocks)
        functions = [Function(block) for block in blocks]
        check_names(functions)
        if options.header:
            write(options.header, header(functions, options))
        if options.source:
            write(options.source, source(functions, options))
        if options.types:
            write(options.types, types_header(functions))
    except Fault as fault:
        print(fault, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
