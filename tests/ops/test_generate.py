#!/usr/bin/env python3
"""lib/ops/generate.py: what it writes for a block, and what it says of text that it cannot read.

test_generate.py SIGNATURES [TEST...]    SIGNATURES: the program that reads signatures for it (panto-signatures)
"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GENERATOR = ROOT / "lib" / "ops" / "generate.py"
COMMAND = [sys.executable, str(GENERATOR), "--signatures", str(pathlib.Path(sys.argv.pop(1)).resolve())]


def generate(text, *options, files=None):
    """(exit status, header, source, messages) for the text of one file, or for {name: text}."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        files = files or {"family.cc": text}
        for name, content in files.items():
            (folder / name).write_text(content, encoding="utf-8")
        command = [*COMMAND, "--header", "ops.h", "--source", "ops.cc", *options, *files]
        result = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
        written = [(folder / name).read_text(encoding="utf-8") if (folder / name).exists() else ""
                   for name in ("ops.h", "ops.cc")]
        return result.returncode, *written, result.stderr


def define(signature, block="{}", name="kOp"):
    return f'const Op& {name} = define_op("{signature}", {block});\n'


class Generate(unittest.TestCase):
    def functions(self, text, *options):
        status, header, source, messages = generate(text, *options)
        self.assertEqual((status, messages), (0, ""))
        return header, source

    def header_has(self, signature, *lines, block="{}"):
        header, _ = self.functions(define(signature, block))
        for line in lines:
            self.assertIn(line + "\n", header)

    def refused(self, text, message):
        status, header, source, messages = generate(text)
        self.assertEqual((status, header, source), (1, "", ""))
        self.assertEqual(messages, message + "\n")

    def test_types_are_those_of_the_attribute_that_selects_the_kernel_and_costs_those_of_the_block(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "family.cc").write_text(
                define("First(x: float32, y: T, z: U; T: floating|int32, U: any - string) -> (y: U)", name="kFirst") +
                define("Chosen(x: T, y: U; T: real, U: plain|string - int8|bool) -> (z: T)",
                       '{.primary = "U", .flops = flops_each<20>}', "kChosen") +
                define("Listed(x: T; T: list(type)) -> (y: bool)", name="kListed"), encoding="utf-8")
            subprocess.run([*COMMAND, "--header", "ops.h", "--source", "ops.cc", "--types", "family_types.h",
                            "family.cc"], cwd=folder, check=True, timeout=60)
            text = (folder / "family_types.h").read_text(encoding="utf-8")
        self.assertIn('template <>\nstruct OpTypes<"First"> {\n'
                      "  static constexpr DTypeSet kTypes = dtypes::kFloating | DTypeSet{kInt32};\n"
                      "  static constexpr int kFlops = 0;\n};\n", text)
        self.assertIn('struct OpTypes<"Chosen"> {\n'
                      "  static constexpr DTypeSet kTypes = "
                      "((dtypes::kPlain | DTypeSet{kString}) - DTypeSet{kInt8}) | DTypeSet{kBool};\n"
                      "  static constexpr int kFlops = 20;\n};\n", text)
        self.assertNotIn("Listed", text)

    def test_attributes_become_a_struct_and_slots_in_signature_order(self):
        header, source = self.functions(define(
            "MatMul(a: T, b: T; transpose_a: bool = false, T: numeric, transpose_b: bool = true) -> (product: T)",
            '{.doc = "Matrix product.", .cpp = "matmul"}', "kMatMul"))
        self.assertIn("""\
struct MatMulAttrs {
  bool transpose_a = false;
  bool transpose_b = true;
};
// Matrix product.
//
//   a, b     T
//   returns  product: T
//   T        numeric
Tensor matmul(Arg a, Arg b, const MatMulAttrs& attrs = {});
extern const Op& kMatMul;
""", header)
        self.assertIn("""\
Tensor matmul(Arg a, Arg b, const MatMulAttrs& attrs) {
  Arg* args[] = {&a, &b};
  AttrSlot slots[] = {attrs.transpose_a, {}, attrs.transpose_b};
  return dispatch::call_typed_1(kMatMul, args, slots);
}
""", source)

    def test_a_name_is_snake_case_without_version(self):
        for op, name in (("AddV2", "add"), ("BiasAdd", "bias_add"), ("L2Loss", "l2_loss"), ("IdentityN", "identity_n"),
                         ("Log1p", "log1p"), ("ReadVariableOp", "read_variable_op"), ("XWPlusB", "xw_plus_b"),
                         ("StatelessRandomUniformV2", "stateless_random_uniform"), ("LRN", "lrn"),
                         ("ConcatV12", "concat"), ("_FusedMatMulV2", "_fused_mat_mul"), ("V2", "v2"),
                         ("Conv2DBackpropInput", "conv2d_backprop_input"), ("MaxPool3D", "max_pool3d")):
            self.header_has(f"{op}(x: float32) -> (y: float32)", f"Tensor {name}(Arg x);")

    def test_defaults_of_every_kind(self):
        self.header_has(
            "Op(x: float32; i: int = -3, f: float = 1e-4, g: float = 1, h: float = -inf, n: float = nan, "
            "b: bool = true, s: string = \\\"SAME\\\", "
            r"e: string = \"a\\\"\\\\\\n\\x019é\", "
            "t: type = int32, p: shape = [2,?], q: shape = ?, r: shape = [], li: list(int) = [1, 2], "
            "lt: list(type) = [float32, bool], ls: list(string) = [], m: {\\\"a\\\", \\\"b\\\"} = \\\"a\\\") -> (y: float32)",
            "  int64_t i = -3;", "  float f = 1e-4f;", "  float g = 1.0f;",
            "  float h = -std::numeric_limits<float>::infinity();",
            "  float n = std::numeric_limits<float>::quiet_NaN();", "  bool b = true;",
            r'  std::string e = "a\"\\\n\0019\303\251";', '  std::string s = "SAME";',
            "  DType t = kInt32;", "  PartialShape p = {2, -1};", "  PartialShape q = {};",
            "  PartialShape r = PartialShape(std::initializer_list<Dim>{});",
            "  std::vector<int64_t> li = panto::detail::int_list({1, 2});", "  std::vector<DType> lt = {kFloat32, kBool};",
            "  std::vector<std::string> ls = {};", '  std::string m = "a";  // "a" or "b"')

    def test_required_attributes_are_parameters_and_inferred_ones_are_not(self):
        self.header_has("Cast(x: SrcT; SrcT: any, DstT: type, Truncate: bool = false) -> (y: DstT)",
                        "Tensor cast(Arg x, DType DstT, const CastAttrs& attrs = {});")
        self.header_has("Rand(shape: T @host; dtype: floating, T: index, names: list(string)) -> (output: dtype)",
                        "Tensor rand(Arg shape, DType dtype, const std::vector<std::string>& names);",
                        "//   shape    T, in host memory", "//   dtype    type: floating")

    def test_defaults_of_inputs(self):
        self.header_has("Sum(input: T, axes: int32 @host = all; T: any) -> (output: T)",
                        "Tensor sum(Arg input, Arg axes = Arg::all_axes());")
        self.header_has("ArgMax(input: float32, dimension: int32 @host = -1) -> (output: int64)",
                        "Tensor arg_max(Arg input, Arg dimension = -1);")
        self.header_has("Flip(x: float32, dims: int32 @host = {0, 1}) -> (y: float32)",
                        "Tensor flip(Arg x, Arg dims = {0, 1});")

    def test_lists_and_several_outputs(self):
        header, source = self.functions(define(
            "Mixed(x: N * T, y: T; N: int >= 1, T: type, M: int = 2) -> (a: N * T, b: T, c: M * T)"))
        self.assertIn("""\
struct MixedOutputs {
  std::vector<Tensor> a;  // T
  Tensor b;  // T
  std::vector<Tensor> c;  // T
  static constexpr const char* kNames[] = {"a", "b", "c"};
};
""", header)
        self.assertIn("MixedOutputs mixed(const ArgList& x, Arg y, const MixedAttrs& attrs = {});", header)
        self.assertIn("  for (size_t n = x.tensors().size(); n > 0; --n) result.a.push_back(*next++);\n", source)
        self.assertIn("  for (size_t n = static_cast<size_t>(attrs.M); n > 0; --n) result.c.push_back(*next++);\n", source)
        self.assertIn("dispatch::call_typed(kOp, args, slots, x.where())", source)

    def test_results(self):
        for outputs, result in (("", "void"), ("y: float32", "Tensor"), ("y: n * float32", "std::vector<Tensor>"),
                                ("y: float32, z: int32", "OpOutputs"), ("y: types", "std::vector<Tensor>")):
            self.header_has(f"Op(x: float32; n: int = 1, types: list(type) = []) -> ({outputs})",
                            f"{result} op(Arg x, const OpAttrs& attrs = {{}});")

    def test_without_inputs_the_caller_s_line_is_a_parameter(self):
        header, source = self.functions(define("NoOp() -> ()", name="kNoOp"))
        self.assertIn("void no_op(std::source_location where = std::source_location::current());\n", header)
        self.assertIn("  dispatch::call_typed(kNoOp, {}, {}, where);\n", source)

    def test_keywords_get_an_underscore(self):
        self.header_has("Op(default: float32; int: int, static: bool = false, attrs: int = 1) -> (y: float32)",
                        "  bool static_ = false;", "  int64_t attrs = 1;",
                        "Tensor op(Arg default_, int64_t int_, const OpAttrs& attrs = {});")

    def test_text_around_blocks(self):
        header, _ = self.functions(r'''
            // const Op& kA = define_op("A() -> ()", {});
            /* const Op& kB = define_op("B() -> ()", {}); */
            const char* text = "const Op& kC = define_op(\"C() -> ()\", {})";
            const char* raw = R"x(const Op& kD = define_op("D() -> ()", {});)x";
            constexpr int kMillion = 1'000'000, kQuote = '"';
            const panto::Op& kReal = panto::define_op(
                "Real(x: float32; "     // a comment between literals
                "k: int = 1) -> (y: float32)",
                {.doc = "One " "two \"three\"\\."});
        ''')
        self.assertEqual(header.count("Tensor"), 1)
        self.assertIn('// One two "three"\\.\n', header)
        for absent in ("kA", "kB", "kC", "kD"):
            self.assertNotIn(absent + ";", header)

    def test_only_the_block_s_own_members_count(self):
        header, _ = self.functions(define(
            "Op(x: float32) -> (y: float32)",
            '{.doc = "Right.", .shape = [](ShapeContext& c) { Options o{.doc = "wrong", .cpp = "wrong"}; f(o, {1}); }}'))
        self.assertIn("// Right.\n", header)
        self.assertIn("Tensor op(", header)

    def test_long_lines_are_broken(self):
        names = ", ".join(f"a_rather_long_name_{i}: float32" for i in range(9))
        header, source = self.functions(define(f"Op({names}) -> (y: float32)", '{.doc = "' + "word " * 60 + '"}'))
        for line in (header + source).splitlines():
            self.assertLessEqual(len(line), 120)
        self.assertIn("\nTensor op(Arg a_rather_long_name_0, Arg", header)

    def test_the_result_depends_on_the_input_only(self):
        text = define("Op(x: T; T: any, k: int = 1) -> (y: T)")
        self.assertEqual(generate(text), generate(text))

    def test_versions_that_meet(self):
        header, _ = self.functions(define("Print(x: float32; k: int = 1) -> ()", '{.cpp = "print_v1"}', "kPrint") +
                                   define("PrintV2(x: float32; k: int = 1) -> ()", name="kPrintV2"))
        self.assertIn("struct PrintAttrs {", header)
        self.assertIn("struct PrintV2Attrs {", header)

    def test_exports(self):
        block = define("MyOp(x: float32) -> (y: float32)", name="kMyOp")
        header, _ = self.functions(block)
        self.assertIn("namespace panto PANTO_EXPORT {\n", header)
        self.assertEqual(header.count("PANTO_EXPORT"), 1)
        header, _ = self.functions(block, "--namespace", "my::ops")  # nested namespaces take no attributes
        self.assertIn("namespace my::ops {\n", header)
        self.assertIn("PANTO_EXPORT Tensor my_op(Arg x);\nextern PANTO_EXPORT const Op& kMyOp;\n", header)

    def test_plug_in(self):
        header, source = self.functions(define("MyOp(x: float32) -> (y: float32)", name="kMyOp"),
                                        "--namespace", "my_ops", "--no-export")
        self.assertNotIn("PANTO_EXPORT", header)
        self.assertNotIn("export.h", header)
        self.assertIn("namespace my_ops {\n\nusing namespace panto;\n\n", header)
        self.assertIn("\nTensor my_op(Arg x);\nextern const Op& kMyOp;\n", header)
        self.assertIn('#include "ops.h"\n', source)

    def test_unreadable_blocks(self):
        begin = "family.cc:1: error: "
        self.refused('auto& op = define_op("A() -> ()", {});',
                     begin + 'define_op: expected `const Op& kName = define_op("signature", {...})`')
        self.refused('static const Op& kA = define_op("A() -> ()", {});',
                     begin + "kA: expected external linkage, got static")
        self.refused("\n\nconst Op& kA = define_op(\n  kText, {});",
                     "family.cc:4: error: signature: expected a string literal, got kText")
        self.refused('const Op& kA = define_op("A() -> ()",\n{.doc =\n make_doc()});',
                     "family.cc:3: error: .doc of kA: expected a string literal, got make_doc")
        self.refused('const Op& kA = define_op("A() -> ()", {.doc = "x" + y});',
                     begin + ".doc of kA: expected string literals only, got +")
        self.refused('const Op& kA = define_op("A() -> ()", block);',
                     begin + "block of kA: expected `, {`, got ,")
        self.refused('const Op& kA = define_op("A() -> ()", {', begin + "block of kA has no end")
        self.refused('int x; "abc', begin + "literal without end")
        self.refused("/* abc", begin + "comment without end")

    def test_unreadable_signatures(self):
        for signature, message in (
                ("A(x) -> (y: float32)", "column 4: expected ':', got ') -> (y: flo'"),
                ("A(x: T) -> (y: T)",
                 "column 6: expected the type of argument 'x' to be a dtype or an attribute, got 'T'"),
                ("A(x: T; T: numbers) -> (y: T)",
                 "column 12: expected a kind, a dtype or a set of dtypes, got 'numbers) -> '"),
                ("A(x: N * T; T: any) -> (y: T)", "column 6: expected 'N' of argument 'x' to be an int attribute"),
                ("A(x: T, x: T; T: any) -> ()",
                 "column 9: expected an argument's name that is not taken, got 'x: T; T: any'"),
                ("A(x: T; T: any) ", "column 17: expected '-', got 'the end'"),
                ("A(; k: int = 1.5) -> ()", "column 15: expected ')', got '.5) -> ()'"),
                ("A() -> () x", "column 11: expected the end, got 'x'"),
                ("A(%) -> ()", "column 3: expected an argument's name, got '%) -> ()'")):
            self.refused(define(signature), f'family.cc:1: error: signature: {message}; in "{signature}"')

    def test_the_first_fault_is_told_where_it_is(self):
        fine, bad = define("A() -> ()", name="kA"), define("B(x) -> ()", name="kB")
        self.refused(fine + "\n" + bad + bad,
                     "family.cc:3: error: signature: column 4: expected ':', got ') -> ()'; in \"B(x) -> ()\"")

    def test_a_signature_ends_where_c_ends_it(self):
        self.header_has("Op(x: float32) -> (y: float32)\\0 this is not read", "Tensor op(Arg x);")

    def test_a_doc_changes_no_header_without_docs(self):
        blocks = [define("Op(x: float32) -> (y: float32)", f'{{.doc = "{doc}"}}') for doc in ("One.", "Another.")]
        self.assertEqual(len({self.functions(block) for block in blocks}), 2)
        self.assertEqual(len({self.functions(block, "--no-docs") for block in blocks}), 1)

    def test_a_header_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "family.cc").write_text(define("Op(x: float32) -> (y: float32)"), encoding="utf-8")
            subprocess.run([*COMMAND, "--header", "ops.h", "family.cc"], cwd=folder, check=True, timeout=60)
            self.assertEqual(sorted(path.name for path in folder.iterdir()), ["family.cc", "ops.h"])

    def test_without_the_program_that_reads_signatures(self):
        path = pathlib.Path("/no/such/program")
        status, header, _, messages = generate(define("A() -> ()"), "--signatures", str(path))
        self.assertEqual((status, header), (1, ""))
        self.assertTrue(messages.startswith(f"{path}:1: error: cannot be run: "), messages)

    def test_names_that_clash(self):
        ok = "x: float32) -> (y: float32)"
        self.refused(define(f"A({ok}", name="kA") + define(f"A({ok}", name="kB"),
                     "family.cc:2: error: A: op A is also at family.cc:1")
        self.refused(define(f"A({ok}", name="kA") + define(f"B({ok}", name="kA"),
                     "family.cc:2: error: B: reference kA is also at family.cc:1")
        self.refused(define(f"Add({ok}", name="kA") + define(f"AddV2({ok}", name="kB"),
                     "family.cc:2: error: AddV2: C++ function add is also at family.cc:1")
        self.refused(define(f"Switch({ok}"), "family.cc:1: error: Switch: switch is a C++ keyword: give another name in .cpp")
        self.refused(define("A(x: int32 = 0, y: int32) -> ()"),
                     "family.cc:1: error: A: y has no default and follows x, which has one")

    def test_a_missing_file(self):
        with tempfile.TemporaryDirectory() as folder:
            result = subprocess.run([*COMMAND, "--header", "a.h", "--source", "a.cc", "none.cc"],
                                    cwd=folder, capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 1)
        self.assertTrue(result.stderr.startswith("none.cc:1: error: cannot be read: "), result.stderr)


if __name__ == "__main__":
    program = unittest.main(exit=False, verbosity=0)
    failed = len(program.result.failures) + len(program.result.errors)
    print(f"{program.result.testsRun - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)
