#include "panto/apps/repl/text/hints.h"

#include <fmt/core.h>

#include <regex>
#include <sstream>

#include "panto/apps/repl/commands/commands.h"

namespace panto::repl {
namespace {

struct Name {
  const char* theirs;
  const char* ours;
};

constexpr Name kNames[] = {
    {"arange", "range(start, limit, delta)"},
    {"array", "tensor({{1.f, 2.f}, {3.f, 4.f}})"},
    {"asarray", "tensor({{1.f, 2.f}, {3.f, 4.f}})"},
    {"zeros", "zeros({2, 3}), zeros({2, 3}, kInt32)"},
    {"ones", "ones({2, 3}), ones({2, 3}, kInt32)"},
    {"empty", "zeros({2, 3})"},
    {"full", "fill({2, 3}, 7.0f)"},
    {"rand", "random_uniform({2, 3}, {.seed = 1})"},
    {"randn", "random_normal({2, 3}, {.seed = 1})"},
    {"randint", "random_uniform({2, 3}, {.dtype = kInt32, .min = 0, .max = 6})"},
    {"concatenate", "concat({x, y}, axis)"},
    {"cat", "concat({x, y}, axis)"},
    {"vstack", "concat({x, y}, 0)"},
    {"hstack", "concat({x, y}, 1)"},
    {"stack", "pack({x, y})"},
    {"where", "select(condition, x, y)"},
    {"max", "reduce_max(x), reduce_max(x, {axis}), of two tensors maximum(x, y)"},
    {"min", "reduce_min(x), reduce_min(x, {axis}), of two tensors minimum(x, y)"},
    {"amax", "reduce_max(x, {axis})"},
    {"amin", "reduce_min(x, {axis})"},
    {"prod", "reduce_prod(x, {axis})"},
    {"all", "reduce_all(condition)"},
    {"any", "reduce_any(condition)"},
    {"std", "sqrt(mean(square(x - mean(x))))"},
    {"var", "mean(square(x - mean(x)))"},
    {"norm", "sqrt(sum(square(x)))"},
    {"axis", "sum(x, {0}), without the name"},
    {"keep_dims", "{.keep_dims = true} as the last argument"},
    {"keepdims", "{.keep_dims = true} as the last argument"},
    {"dtype", "cast(x, kFloat64); where something is made, zeros({2, 3}, kFloat64)"},
    {"dot", "matmul(x, y)"},
    {"mm", "matmul(x, y)"},
    {"clip", "minimum(maximum(x, low), high)"},
    {"clamp", "minimum(maximum(x, low), high)"},
    {"power", "pow(x, y)"},
    {"mod", "floor_mod(x, y)"},
    {"astype", "cast(x, kFloat32)"},
    {"T", "transpose(x, {1, 0})"},
    {"transpose", "transpose(x, {1, 0})"},
    {"flatten", "reshape(x, {-1})"},
    {"ravel", "reshape(x, {-1})"},
    {"view", "reshape(x, {2, -1})"},
    {"item", "x.item<float>()"},
    {"data", "x.data<float>()"},
    {"tolist", "x.to_vector<float>()"},
    {"numpy", "x.to_vector<float>(), or write_npy(\"x.npy\", x)"},
    {"save", "write_npy(\"x.npy\", x); of a function f.save(\"f.pb\")"},
    {"len", "x.shape()[0]"},
    {"ndim", "x.rank()"},
    {"size", "x.numel()"},
    {"backward", "tape.gradient(loss, x), where GradientTape tape; stood before the loss"},
    {"print", "x without a semicolon, or std::cout << x"},
    {"import", "everything is there already"},
    {"np", "zeros({2, 3}), without a prefix"},
    {"tf", "zeros({2, 3}), without a prefix"},
    {"torch", "zeros({2, 3}), without a prefix"},
    {"True", "true"},
    {"False", "false"},
    {"None", "nullptr"},
    {"_", "the last value that was shown: there is none yet, or one that cannot be copied"},
    {"Out", "Out[2], with the number of an input that showed a value"},
};

constexpr Name kOperators[] = {
    {"==", "equal(x, y)"},
    {"!=", "not_equal(x, y)"},
    {"%", "floor_mod(x, y)"},
    {"&", "logical_and(x, y)"},
    {"|", "logical_or(x, y)"},
    {"&&", "logical_and(x, y)"},
    {"||", "logical_or(x, y)"},
    {"!", "logical_not(x)"},
    {"+=", "x = x + y, or v.assign_add(y)"},
    {"-=", "x = x - y, or v.assign_sub(y)"},
    {"*=", "x = x * y"},
    {"/=", "x = x / y"},
    {"<<", "x.to_string(), which gives text"},
};

// What the caret stands under.
std::string operator_at_caret(const std::string& shown) {
  std::istringstream in(shown);
  std::string message, source, caret;
  std::getline(in, message);
  std::getline(in, source);
  std::getline(in, caret);
  const size_t at = caret.find('^');
  if (at == std::string::npos || at >= source.size()) return "";
  return source.substr(at, source.find_first_not_of("=!%&|+-*/<@:", at) - at);
}

std::string hint(const std::string& shown) {
  const std::string first = shown.substr(0, shown.find('\n'));
  static const std::regex kUnknown("(?:undeclared identifier|no type named|unknown type name) '(\\w+)'");
  static const std::regex kMember("no member named '(\\w+)' in '(?:const )?(?:panto::)?(?:Tensor|Variable)'");
  static const std::regex kCall("no matching (?:member )?function for call to '(\\w+)'");
  std::smatch m;
  if (std::regex_search(first, m, kUnknown)) {
    return written_here(m[1]);
  }
  if (std::regex_search(first, m, kMember) || std::regex_search(first, m, kCall)) {
    const std::string ours = written_here(m[1]);
    return ours.empty() ? op_call(m[1]) : ours;
  }
  if (first.find("unexpected namespace name 'std'") != std::string::npos) return written_here("std");
  const auto says = [&](const char* text) { return first.find(text) != std::string::npos; };
  static const std::regex kFromTensor("conver(?:sion from|t) '(?:panto::)?Tensor' to ");
  if (std::regex_search(first, kFromTensor)) {
    if (says("std::span<"))
      return shown.find("gradients(") != std::string::npos ? "tape.gradient(y, {a, b})" : "{x, y}";
    return says("Variable'") ? "Variable v(x, \"v\");" : "x.item<float>()";
  }
  const std::string sign = operator_at_caret(shown);
  if (says("viable overloaded operator[]") || (says("expected ']'") && sign == ":")) {
    return "x[0] and x(0, 1) take numbers; slice(x, {0, 0}, {2, 3}) takes begin and size";
  }
  if (says("in lambda capture list")) return "lists have braces: tensor({{1.f, 2.f}, {3.f, 4.f}})";
  if (says("call to 'tensor' is ambiguous")) return "numbers of one type: tensor({1.f, 2.5f})";
  if (says("indirection requires pointer operand")) return "pow(x, 2)";
  if (says("error: expected ") && sign == "@") return "matmul(x, y)";
  static const std::regex kOperator(
      "(?:invalid operands|no viable overloaded|invalid argument type).*(?:Tensor|Variable|ostream|'[-+*/]?=')");
  if (!std::regex_search(first, kOperator)) return "";
  if (sign == "=") return "v.assign(x) of a variable; auto v = x declares another";
  for (const Name& n : kOperators) {
    if (sign == n.theirs) return n.ours;
  }
  return "";
}

}  // namespace

std::string written_here(const std::string& name) {
  for (const Name& n : kNames) {
    if (name == n.theirs) return n.ours;
  }
  return "";
}

std::string with_hint(const std::string& shown) {
  const std::string text = hint(shown);
  return text.empty() ? shown : fmt::format("{}\nhint: {}", shown, text);
}

}  // namespace panto::repl
