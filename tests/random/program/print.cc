// A program as C++ that one can paste.
#include <fmt/format.h>

#include <complex>
#include <set>

#include "panto/lib/core/tensor/half.h"
#include "panto/tests/random/program/program.h"

namespace panto::random {
namespace {

// "kFloat32", as the header has it; those that have no short name are written in full.
std::string cpp_dtype(DType t) {
  std::string name(dtype_name(t));
  name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
  if (t == kBFloat16) name = "BFloat16";
  if (dtypes::kQuantized.contains(t)) name[1] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[1])));
  return "k" + name;
}

std::string cpp_dims(std::span<const int64_t> dims) { return fmt::format("{{{}}}", fmt::join(dims, ", ")); }

std::string cpp_shape(const PartialShape& shape) {
  return shape.known_rank() ? "PartialShape" + cpp_dims(shape.dims()) : "PartialShape()";
}

std::string real_text(double v, const char* suffix) {
  if (v != v) return "NAN";
  if (v - v != 0) return v > 0 ? "INFINITY" : "-INFINITY";
  std::string text = fmt::format("{}", v);
  if (text.find_first_of(".e") == std::string::npos) text += ".";
  return text + suffix;
}

template <class T>
std::string number_text(T v) {
  if constexpr (std::is_same_v<T, float>) return real_text(static_cast<double>(v), "f");
  if constexpr (std::is_same_v<T, double>) return real_text(v, "");
  if constexpr (std::is_same_v<T, int64_t>) return fmt::format("{}L", v);
  if constexpr (std::is_same_v<T, int32_t>) return fmt::format("{}", v);
  return "";
}

template <class T>
std::string typed_values(const Tensor& t, const char* type) {
  std::vector<std::string> texts;
  bool same = true;
  for (const T& v : t.data<T>()) {
    texts.push_back(number_text(v));
    same = same && texts.back() == texts[0];
  }
  if (t.rank() == 0 && texts.size() == 1) return fmt::format("tensor({})", texts[0]);
  const std::string shape = t.rank() == 1 ? "" : fmt::format(", Shape{}", cpp_dims(t.shape().dims()));
  if (same && texts.size() > 4) {
    return fmt::format("tensor(std::vector<{}>({}, {}){})", type, texts.size(), texts[0], shape);
  }
  return fmt::format("tensor(std::vector<{}>{{{}}}{})", type, fmt::join(texts, ", "), shape);
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 32 || static_cast<unsigned char>(c) > 126) {
      result += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string cpp_attr(const AttrValue& v) {
  switch (v.kind()) {
    case AttrKind::kInt: return fmt::format("AttrValue(int64_t{{{}}})", v.as<int64_t>());
    case AttrKind::kFloat: return fmt::format("AttrValue({})", number_text(v.as<float>()));
    case AttrKind::kBool: return fmt::format("AttrValue({})", v.as<bool>());
    case AttrKind::kType: return fmt::format("AttrValue(DType::{})", cpp_dtype(v.as<DType>()));
    case AttrKind::kString: return fmt::format("AttrValue({})", quoted(v.as<std::string>()));
    case AttrKind::kShape: return fmt::format("AttrValue({})", cpp_shape(v.as<PartialShape>()));
    case AttrKind::kTensor: return fmt::format("AttrValue({})", cpp_tensor(v.as<Tensor>()));
    case AttrKind::kIntList:
      return fmt::format("AttrValue(std::vector<int64_t>{})", cpp_dims(v.as<std::vector<int64_t>>()));
    case AttrKind::kFloatList: {
      std::vector<std::string> texts;
      for (const float f : v.as<std::vector<float>>()) texts.push_back(number_text(f));
      return fmt::format("AttrValue(std::vector<float>{{{}}})", fmt::join(texts, ", "));
    }
    case AttrKind::kTypeList: {
      std::vector<std::string> texts;
      for (const DType t : v.as<std::vector<DType>>()) texts.push_back("DType::" + cpp_dtype(t));
      return fmt::format("AttrValue(std::vector<DType>{{{}}})", fmt::join(texts, ", "));
    }
    case AttrKind::kStringList: {
      std::vector<std::string> texts;
      for (const std::string& s : v.as<std::vector<std::string>>()) texts.push_back(quoted(s));
      return fmt::format("AttrValue(std::vector<std::string>{{{}}})", fmt::join(texts, ", "));
    }
    default: return "AttrValue(/* " + v.to_string() + " */)";
  }
}

class Printer {
 public:
  explicit Printer(const Program& program) : program_(program) {}

  std::string run() {
    text_ += fmt::format("// seed {}\n", program_.seed);
    for (size_t i = 0; i < program_.variables.size(); ++i) {
      const VariableInit& v = program_.variables[i];
      const bool plain = v.declared.fully_known();
      text_ += fmt::format("const Variable v{}({}, \"v{}\");{}\n", i, cpp_tensor(v.value), i,
                           plain ? "" : "  // declared " + v.declared.to_string());
    }
    captured(program_.body);
    text_ += fmt::format("const auto body = [&](std::span<const Tensor> in) -> std::vector<Tensor> {{\n");
    print(program_.body, 1);
    text_ += "};\nconst std::vector<Tensor> inputs = {";
    for (size_t i = 0; i < program_.inputs.size(); ++i) text_ += (i > 0 ? ",\n    " : "") + given(program_.inputs[i]);
    text_ += "};\nconst std::vector<TensorSpec> specs = {";
    for (size_t i = 0; i < program_.inputs.size(); ++i) {
      const Input& in = program_.inputs[i];
      text_ += fmt::format("{}TensorSpec({}, {})", i > 0 ? ", " : "", cpp_dtype(in.value.dtype()), cpp_shape(in.spec));
    }
    text_ += "};\n";
    for (size_t k = 0; k < program_.num_others; ++k) {
      text_ += fmt::format("const std::vector<Tensor> others_{} = {{", k);
      for (size_t i = 0; i < program_.inputs.size(); ++i) {
        text_ += (i > 0 ? ",\n    " : "") + cpp_tensor(program_.inputs[i].others[k]);
      }
      text_ += "};\n";
    }
    if (program_.fed >= 0) {
      text_ += fmt::format("// a session is fed t{} = {}\n", program_.fed, cpp_tensor(program_.fed_value));
    }
    if (!program_.passes.empty()) text_ += fmt::format("// passes \"{}\"\n", program_.passes);
    return std::move(text_);
  }

 private:
  static std::string given(const Input& in) {
    const char* how = in.memory == Input::Memory::kView      ? "/* a view */ "
                      : in.memory == Input::Memory::kAdopted ? "/* adopted */ "
                                                             : "";
    return how + cpp_tensor(in.value);
  }

  static std::string name(Ref r) {
    return r >= 0 ? fmt::format("t{}", r) : fmt::format("v{}.handle()", variable_of_ref(r));
  }
  static std::string names(const std::vector<Ref>& refs, size_t from = 0) {
    std::string text;
    for (size_t i = from; i < refs.size(); ++i) text += (i > from ? ", " : "") + name(refs[i]);
    return text;
  }
  static std::string source(Ref r) { return r >= 0 ? name(r) : fmt::format("v{}", variable_of_ref(r)); }

  // What is made outside.
  void captured(const Body& body) {
    for (const Statement& s : body.statements) {
      if (s.kind == Statement::Kind::kConstant && s.origin == Statement::Origin::kCaptured) {
        text_ += fmt::format("const Tensor t{} = {};\n", s.out[0], cpp_tensor(s.value));
      }
      if (s.body != nullptr) captured(*s.body);
    }
  }

  void line(int depth, const std::string& text) {
    text_ += std::string(static_cast<size_t>(depth) * 2, ' ') + text + '\n';
  }

  void results(int depth, const Statement& s, const std::string& call) {
    if (s.out.empty()) return line(depth, call + ";");
    if (s.out.size() == 1) return line(depth, fmt::format("const Tensor t{} = {}[0];", s.out[0], call));
    line(depth, fmt::format("const auto r{} = {};", s.out[0], call));
    for (size_t k = 0; k < s.out.size(); ++k) {
      line(depth, fmt::format("const Tensor t{} = r{}[{}];", s.out[k], s.out[0], k));
    }
  }

  void print(const Body& body, int depth) {
    const char* in = depth == 1 ? "in" : "args";
    for (size_t i = 0; i < body.inputs.size(); ++i) {
      line(depth, fmt::format("const Tensor& t{} = {}[{}];", body.inputs[i], in, i));
    }
    for (const Statement& s : body.statements) print(s, depth);
    line(depth, fmt::format("return {{{}}};", names(body.outputs)));
  }

  void print(const Statement& s, int depth) {
    switch (s.kind) {
      case Statement::Kind::kOp: {
        std::string attrs;
        for (const auto& [key, v] : s.attrs) {
          attrs += fmt::format("{}{{\"{}\", {}}}", attrs.empty() ? "" : ", ", key, cpp_attr(v));
        }
        const std::string inputs = fmt::format("std::vector<Tensor>{{{}}}", names(s.in));
        results(depth, s,
                attrs.empty() ? fmt::format("dispatch::call(\"{}\", {})", s.op->name(), inputs)
                              : fmt::format("dispatch::call(\"{}\", {}, "
                                            "std::vector<std::pair<std::string, AttrValue>>{{{}}})",
                                            s.op->name(), inputs, attrs));
        break;
      }
      case Statement::Kind::kConstant:
        if (s.origin == Statement::Origin::kCaptured) break;
        line(depth, fmt::format("const Tensor t{} = {};", s.out[0], cpp_tensor(s.value)));
        if (s.origin == Statement::Origin::kLiteral) line(depth, fmt::format("t{}.impl()->literal = true;", s.out[0]));
        break;
      case Statement::Kind::kCall: {
        const std::string f = fmt::format("f{}", s.out[0]);
        if (s.form == Statement::Form::kCond || s.form == Statement::Form::kLoop) {
          line(depth, fmt::format("const auto {} = [&](std::vector<Tensor> args) -> std::vector<Tensor> {{", f));
          print(*s.body, depth + 1);
          line(depth, "};");
          const char* const call = s.form == Statement::Form::kCond
                                       ? "choose({0}, {{{1}}})"  // cond(max(args[0]) > 0, f(args), f with zeros)
                                       : "go_round({0}, {{{1}}})";
          results(depth, s, fmt::format(fmt::runtime(call), f, names(s.in)));
          break;
        }
        if (s.form == Statement::Form::kRecursive) {
          line(depth, fmt::format("// calls itself with sum(args[0], {{0}}) and adds sum(result) up to rank 0"));
        }
        std::string specs;
        for (size_t i = 0; i < s.specs.size() && s.form == Statement::Form::kSpecs; ++i) {
          specs += fmt::format("{}TensorSpec(t{}.dtype(), {})", i > 0 ? ", " : "", s.in[i], cpp_shape(s.specs[i]));
        }
        line(depth,
             fmt::format("static Function {} = trace([&](std::span<const Tensor> args) -> std::vector<Tensor> {{", f));
        print(*s.body, depth + 1);
        line(depth, s.form == Statement::Form::kSpecs ? fmt::format("}}, {{{}}});", specs) : "});");
        results(depth, s, fmt::format("{}.call(std::vector<Tensor>{{{}}})", f, names(s.in)));
        break;
      }
      case Statement::Kind::kTape:
        line(depth,
             fmt::format("auto tape{0} = std::make_unique<GradientTape>(GradientTape::Options{{.persistent = {1}, "
                         ".unconnected_zero = true}});",
                         s.tape, s.persistent));
        for (const Ref r : s.in) line(depth, fmt::format("tape{}->watch({});", s.tape, source(r)));
        break;
      case Statement::Kind::kGradient: {
        std::string sources;
        for (size_t i = 1; i < s.in.size(); ++i) sources += (i > 1 ? ", " : "") + source(s.in[i]);
        results(depth, s, fmt::format("tape{}->gradient({}, {{{}}})", s.tape, name(s.in[0]), sources));
        break;
      }
      case Statement::Kind::kEndTape: line(depth, fmt::format("tape{}.reset();", s.tape)); break;
    }
  }

  const Program& program_;
  std::string text_;
};

}  // namespace

std::string cpp_tensor(const Tensor& t) {
  switch (t.dtype()) {
    case DType::kFloat32: return typed_values<float>(t, "float");
    case DType::kFloat64: return typed_values<double>(t, "double");
    case DType::kInt32: return typed_values<int32_t>(t, "int32_t");
    case DType::kInt64: return typed_values<int64_t>(t, "int64_t");
    case DType::kString: {
      std::vector<std::string> texts;
      for (const std::string& v : t.data<std::string>()) texts.push_back(quoted(v));
      return fmt::format("tensor_from_strings(Shape{}, {{{}}})", cpp_dims(t.shape().dims()), fmt::join(texts, ", "));
    }
    default: break;
  }
  if (!is_plain(t.dtype())) return fmt::format("/* {} */", dtype_name(t.dtype()));
  std::string bytes;
  const auto* data = static_cast<const unsigned char*>(t.impl()->data);
  for (size_t i = 0; i < t.nbytes(); ++i) bytes += fmt::format("\\x{:02x}", data[i]);
  return fmt::format("tensor_from_bytes(DType::{}, Shape{}, \"{}\", {})", cpp_dtype(t.dtype()),
                     cpp_dims(t.shape().dims()), bytes, t.nbytes());
}

std::string to_cpp(const Program& program) { return Printer(program).run(); }

}  // namespace panto::random
