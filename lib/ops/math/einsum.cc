// Einsum: sums of products by an equation, reduced to transpositions, sums and one matrix product.
//
// An operand's dimensions are named by a string such as "b.ij": one letter for each, and '.' for all dimensions of an
// ellipsis. Sizes and ranks may be unknown while a graph is traced; then ops compute them.
#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/run_time_checks.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

constexpr size_t kNone = std::string::npos;

bool has(std::string_view text, char c) { return text.find(c) != std::string_view::npos; }

std::string without(std::string_view text, char c) {
  std::string rest(text);
  std::erase(rest, c);
  return rest;
}

Tensor joined(const std::vector<Tensor>& parts) { return parts.size() == 1 ? parts[0] : concat(parts, 0); }

// Whether `axes` names exactly one dimension.
bool is_one(std::string_view axes) { return axes.size() == 1 && axes != "."; }

// ---- The equation ---------------------------------------------------------------------------------------------------

struct Equation {
  std::vector<std::string> inputs;
  std::string output;
};

// "ab...c" as "ab.c".
std::string parse_term(std::string_view term, std::string_view equation) {
  std::string axes;
  for (size_t i = 0; i < term.size(); ++i) {
    if (std::isalpha(static_cast<unsigned char>(term[i])) != 0) {
      axes += term[i];
    } else if (term.substr(i, 3) == "..." && !has(axes, '.')) {
      axes += '.';
      i += 2;
    } else {
      invalid("equation: expected letters and at most one ellipsis in '{}', got '{}'", term, equation);
    }
  }
  return axes;
}

// The output of an equation without an arrow: the ellipsis, then the letters that occur once, sorted.
std::string implied_output(const std::vector<std::string>& inputs) {
  std::string all, output;
  for (const std::string& term : inputs) all += term;
  std::ranges::sort(all);
  if (has(all, '.')) output += '.';
  for (const char c : all) {
    if (c != '.' && std::ranges::count(all, c) == 1) output += c;
  }
  return output;
}

Equation parse_equation(std::string_view given) {
  std::string text(given);
  std::erase(text, ' ');
  const size_t arrow = text.find("->");
  const std::string_view left = std::string_view(text).substr(0, arrow);
  Equation e;
  for (size_t begin = 0;;) {
    const size_t comma = left.find(',', begin);
    e.inputs.push_back(parse_term(left.substr(begin, comma == kNone ? kNone : comma - begin), given));
    if (comma == kNone) break;
    begin = comma + 1;
  }
  e.output = arrow == kNone ? implied_output(e.inputs) : parse_term(std::string_view(text).substr(arrow + 2), given);
  for (const char c : e.output) {
    if (std::ranges::count(e.output, c) > 1) {
      failf(Code::kUnimplemented, "equation: expected every letter once in the output, got '{}'", given);
    }
    const bool known = std::ranges::any_of(e.inputs, [c](const std::string& term) { return has(term, c); });
    if (c != '.' && !known) invalid("equation: expected letters of the inputs in the output, got '{}'", given);
  }
  return e;
}

// ---- Operands -------------------------------------------------------------------------------------------------------

class Operand {
 public:
  Operand(Tensor t, std::string axes) : t_(std::move(t)), axes_(std::move(axes)) {}

  const Tensor& tensor() const { return t_; }
  const std::string& axes() const { return axes_; }
  bool has(char axis) const { return panto::has(axes_, axis); }

  // The size of `axis`, which must not be '.'; -1 if unknown.
  int64_t dim(char axis) const {
    const PartialShape& s = t_.partial_shape();
    return s.known_rank() ? s.dim(static_cast<int>(position(axes_.find(axis)))) : kUnknownDim;
  }

  // Transposes to this order of dimensions.
  Operand ordered(const std::string& order) const {
    if (order == axes_) return *this;
    if (size_known() || !has('.')) {
      std::vector<int64_t> perm;
      for (const char axis : order) {
        const size_t at = axes_.find(axis);
        for (int64_t k = 0; k < length(at); ++k) perm.push_back(position(at) + k);
      }
      if (std::ranges::is_sorted(perm)) return {t_, order};
      return {transpose(t_, perm), order};
    }
    const Tensor rank = rank_of(dims());
    std::vector<Tensor> parts;
    for (const char axis : order) {
      const Tensor begin = recorded_position(axes_.find(axis), rank);
      if (axis == '.') {
        const Tensor end = begin + ellipsis_length(rank);
        parts.push_back(range(reshape(begin, Shape{}), reshape(end, Shape{}), 1));
      } else {
        parts.push_back(begin);
      }
    }
    return {transpose(t_, joined(parts)), order};
  }

  // Sums over all dimensions except `kept`.
  Operand summed_but(std::string_view kept) const {
    std::string rest;
    std::vector<int64_t> summed;
    for (size_t at = 0; at < axes_.size(); ++at) {
      if (axes_[at] == '.' || panto::has(kept, axes_[at])) {
        rest += axes_[at];
      } else {
        const auto number = static_cast<int64_t>(at);
        summed.push_back(panto::has(rest, '.') ? number - static_cast<int64_t>(axes_.size()) : number);
      }
    }
    return summed.empty() ? *this : Operand(sum(t_, summed), rest);
  }

  // Takes the diagonal of dimensions `axis` and `other`; the result's dimension is named `axis`.
  Operand diagonal(char axis, char other) const {
    const std::string rest = without(without(axes_, axis), other);
    const Operand square = ordered(rest + axis + other);
    const int64_t n = square.dim(axis), m = square.dim(other);
    if (n >= 0 && m >= 0 && n != m) invalid("{}: expected equal dimensions, got {} and {}", axis, n, m);
    const Tensor flat = square.merged({rest, std::string() + axis + other});
    if (n >= 0 && m >= 0) return {gather(flat, range(0, checked_mul(n, n), n + 1), -1), rest + axis};
    // Makes one index per row; reshape fails at run time unless there are as many as columns.
    const Tensor rows = reshape(square.recorded_dims(rest.size(), 1), Shape{});
    const Tensor columns = square.recorded_dims(rest.size() + 1, 1);
    const Tensor step = reshape(columns, Shape{}) + 1;
    return {gather(flat, reshape(range(0, rows * step, step), columns), -1), rest + axis};
  }

  // Merges each group of neighbouring dimensions, except the first group, into one; an empty group becomes a dimension
  // of 1.
  Tensor merged(const std::vector<std::string>& groups) const {
    size_t at = 0;
    bool same = true;
    for (size_t i = 0; i < groups.size(); ++i) {
      same = same && (i == 0 || is_one(groups[i]));
    }
    if (same) return t_;
    std::vector<int64_t> known;
    bool static_dims = size_known();
    for (size_t i = 0; i < groups.size() && static_dims; at += groups[i++].size()) {
      const bool kept = i == 0;
      int64_t product = 1;
      for (size_t a = at; a < at + groups[i].size(); ++a) {
        for (int64_t k = 0; k < length(a); ++k) {
          const int64_t d = t_.partial_shape().dim(static_cast<int>(position(a) + k));
          if (kept) {
            known.push_back(d);
          } else {
            product = d < 0 || product < 0 ? kUnknownDim : checked_mul(product, d);
          }
        }
      }
      if (!kept) known.push_back(product);
    }
    if (static_dims && can_reshape_to(known)) return reshape(t_, known);
    std::vector<Tensor> parts;
    at = 0;
    for (size_t i = 0; i < groups.size(); at += groups[i++].size()) {
      if (groups[i].empty()) {
        if (i > 0) parts.push_back(constant_integers({1}));
        continue;
      }
      const Tensor part = recorded_dims(at, groups[i].size());
      parts.push_back(i == 0 ? part : reduce_prod(part, {0}, {.keep_dims = true}));
    }
    return reshape(t_, joined(parts));
  }

  // The sizes of `count` neighbouring dimensions as an int64 vector.
  Tensor recorded_dims(size_t at, size_t count) const {
    const Tensor all = dims();
    const Tensor rank = rank_of(all);
    const auto letters = static_cast<int64_t>(count);
    const bool with_ellipsis = panto::has(std::string_view(axes_).substr(at, count), '.');
    const Tensor length = with_ellipsis ? ellipsis_length(rank) + (letters - 1) : constant_integers({letters});
    return slice(all, recorded_position(at, rank), length);
  }
  // Appends the sizes of these dimensions to `to`. Returns false, appending nothing, unless all are known.
  bool append_known_dims(size_t at, size_t count, std::vector<int64_t>& to) const {
    if (!size_known()) return false;
    for (size_t a = at; a < at + count; ++a) {
      for (int64_t k = 0; k < length(a); ++k) {
        to.push_back(t_.partial_shape().dim(static_cast<int>(position(a) + k)));
      }
    }
    return true;
  }

  // The same operand, reshaped so that the size of `axis` has `zero`, a vector of one element, added: this makes it
  // depend on the check that computes `zero`.
  Operand plus(char axis, const Tensor& zero) const {
    std::vector<Tensor> parts;
    for (size_t at = 0; at < axes_.size(); ++at) {
      const Tensor part = recorded_dims(at, 1);
      parts.push_back(axes_[at] == axis ? part + zero : part);
    }
    return {reshape(t_, joined(parts)), axes_};
  }

  // Reshape infers one unknown dimension, unless there are no elements.
  static bool can_reshape_to(const std::vector<int64_t>& dims) {
    const auto unknown = std::ranges::count(dims, kUnknownDim);
    return unknown == 0 || (unknown == 1 && std::ranges::find(dims, 0) == dims.end());
  }

 private:
  bool size_known() const { return t_.partial_shape().known_rank(); }
  Tensor dims() const { return shape(t_, {.out_type = kInt64}); }
  // The rank, as a vector of one element.
  static Tensor rank_of(const Tensor& dims) { return shape(dims, {.out_type = kInt64}); }
  int64_t letters() const { return static_cast<int64_t>(axes_.size()) - (has('.') ? 1 : 0); }
  // The number of dimensions that the axis at `at` stands for.
  int64_t length(size_t at) const { return axes_[at] == '.' ? t_.partial_shape().rank() - letters() : 1; }
  // The position of the first of them. Both need a known rank.
  int64_t position(size_t at) const {
    const size_t ellipsis = axes_.find('.');
    const auto number = static_cast<int64_t>(at);
    return ellipsis == kNone || at <= ellipsis ? number : number - 1 + length(ellipsis);
  }
  Tensor ellipsis_length(const Tensor& rank) const { return rank - letters(); }
  Tensor recorded_position(size_t at, const Tensor& rank) const {
    const size_t ellipsis = axes_.find('.');
    if (ellipsis == kNone || at <= ellipsis) return constant_integers({static_cast<int64_t>(at)});
    return rank - static_cast<int64_t>(axes_.size() - at);
  }

  Tensor t_;
  std::string axes_;
};

// Returns `t`, of unknown rank; fails at run time unless it has `letters` dimensions, or at least as many with an
// ellipsis.
Tensor with_rank(const Tensor& t, int64_t letters, bool ellipsis) {
  const Tensor dims = shape(t, {.out_type = kInt64});
  if (!ellipsis) return reshape(t, reshape(dims, {letters}));
  if (letters == 0) return t;
  const Tensor count = constant_integers({letters});
  const Tensor rest = slice(dims, count, shape(dims, {.out_type = kInt64}) - count);
  return reshape(t, concat({slice(dims, constant_integers({0}), count), rest}, 0));
}

// Prepares input `number`: takes diagonals for repeated letters, and drops an ellipsis that stands for no dimensions.
Operand operand_of(const Tensor& t, std::string axes, int number, std::string_view output) {
  const auto letters = std::ranges::count_if(axes, [](char c) { return c != '.'; });
  const PartialShape& s = t.partial_shape();
  if (s.known_rank()) {
    const bool ellipsis = has(axes, '.');
    if (s.rank() < letters || (!ellipsis && s.rank() != letters)) {
      invalid("input {}: expected a rank of {}{}, got shape {}", number, ellipsis ? "at least " : "", letters,
              s.to_string());
    }
    if (s.rank() == letters) axes = without(axes, '.');
  }
  // If the output has no ellipsis, an ellipsis stands for no dimensions.
  if (!s.known_rank() && !has(output, '.')) axes = without(axes, '.');
  const Tensor of_rank = s.known_rank() ? t : with_rank(t, letters, has(axes, '.'));
  // New names for repeated letters.
  std::vector<std::pair<char, char>> repeats;
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t first = axes.find(axes[i]);
    if (first == i) continue;
    repeats.emplace_back(axes[i], static_cast<char>(1 + repeats.size()));
    axes[i] = repeats.back().second;
  }
  Operand x(of_rank, axes);
  for (const auto& [letter, other] : repeats) x = x.diagonal(letter, other);
  return x;
}

// Dimensions of an ellipsis are never summed over.
void expect_ellipsis(const Operand& x, const Equation& e, std::string_view text) {
  if (x.has('.') && !has(e.output, '.')) invalid("equation: expected an ellipsis in the output, got '{}'", text);
}

// ---- Two operands ---------------------------------------------------------------------------------------------------

// Classifies the letters of two operands. Letters that occur in one operand only, and not in the output, have been
// summed over already.
struct Classes {
  std::string batch;        // in both and in the output; with an ellipsis, if both have one
  std::string contracted;   // in both only
  std::string left, right;  // in one and in the output

  Classes(const Operand& x, const Operand& y, std::string_view output) {
    for (const char c : output) {
      if (x.has(c) && y.has(c)) {
        if (c != '.') batch += c;
      } else if (x.has(c)) {
        left += c;
      } else if (y.has(c)) {
        right += c;
      }
    }
    // The ellipsis goes to the front, where batches of different ranks broadcast.
    if (x.has('.') && y.has('.')) batch.insert(0, 1, '.');
    for (const char c : x.axes()) {
      if (c != '.' && y.has(c) && !has(output, c)) contracted += c;
    }
  }
};

// Returns the common letters whose sizes are not known to be equal; throws if sizes are known to differ.
std::string expect_same_sizes(const Operand& x, const Operand& y) {
  std::string open;
  for (const char c : x.axes()) {
    if (c == '.' || !y.has(c)) continue;
    const int64_t a = x.dim(c), b = y.dim(c);
    if (a < 0 || b < 0) {
      open += c;
    } else if (a != b) {
      invalid("{}: expected equal dimensions, got {} and {}", c, a, b);
    }
  }
  return open;
}

// Adds a run-time check that sizes are equal, as a product would broadcast different sizes, or see only merged sizes.
void check_sizes(Operand& x, Operand& y, const std::string& letters) {
  if (letters.empty()) return;
  std::vector<Tensor> of_x, of_y;
  for (const char c : letters) {
    of_x.push_back(x.recorded_dims(x.axes().find(c), 1));
    of_y.push_back(y.recorded_dims(y.axes().find(c), 1));
  }
  const Tensor zero = zero_if_equal(joined(of_x), joined(of_y), static_cast<int64_t>(letters.size()));
  Operand& changed = y.dim(letters[0]) < 0 ? y : x;  // to keep what is known of the other one
  changed = changed.plus(letters[0], zero);
}

// Splits the dimensions of [batch, left, right] that `merged` has merged.
Tensor split(const Tensor& product, const Operand& x, const Operand& y, const Classes& c) {
  if (is_one(c.left) && is_one(c.right)) return product;
  std::vector<int64_t> known;
  const PartialShape& s = product.partial_shape();
  if (s.known_rank()) {
    known.assign(s.dims().begin(), s.dims().end() - 2);
    if (x.append_known_dims(x.axes().find(c.left), c.left.size(), known) &&
        y.append_known_dims(y.axes().find(c.right), c.right.size(), known) && Operand::can_reshape_to(known)) {
      return reshape(product, known);
    }
  }
  const Tensor dims = shape(product, {.out_type = kInt64});
  std::vector<Tensor> parts = {slice(dims, constant_integers({0}), shape(dims, {.out_type = kInt64}) - 2)};
  if (!c.left.empty()) parts.push_back(x.recorded_dims(x.axes().find(c.left), c.left.size()));
  if (!c.right.empty()) parts.push_back(y.recorded_dims(y.axes().find(c.right), c.right.size()));
  return reshape(product, joined(parts));
}

Operand product_of(Operand x, Operand y, std::string_view output) {
  const std::string open = expect_same_sizes(x, y);
  const Classes c(x, y, output);
  // A matrix product checks a single contracted dimension itself.
  check_sizes(x, y, open == c.contracted && is_one(c.contracted) ? "" : open);
  if (c.contracted.empty()) {
    const Operand a = x.ordered(c.batch + c.left), b = y.ordered(c.batch + c.right);
    if (c.left.empty() && c.right.empty()) return {mul(a.tensor(), b.tensor()), c.batch};
    const Tensor product = mul(a.merged({c.batch, c.left, ""}), b.merged({c.batch, "", c.right}));
    return {split(product, a, b, c), c.batch + c.left + c.right};
  }
  // If a factor is transposed in memory, multiply with it transposed instead of copying.
  const bool adj_x = x.axes() == c.batch + c.contracted + c.left && !c.left.empty();
  const bool adj_y = y.axes() == c.batch + c.right + c.contracted && !c.right.empty();
  const std::string &rows = adj_x ? c.contracted : c.left, &inner_x = adj_x ? c.left : c.contracted;
  const std::string &inner_y = adj_y ? c.right : c.contracted, &columns = adj_y ? c.contracted : c.right;
  const Operand a = x.ordered(c.batch + rows + inner_x), b = y.ordered(c.batch + inner_y + columns);
  const Tensor left = a.merged({c.batch, rows, inner_x}), right = b.merged({c.batch, inner_y, columns});
  const Tensor product = c.batch.empty() ? mm(left, right, {.transpose_a = adj_x, .transpose_b = adj_y})
                                         : batch_matmul(left, right, {.adj_x = adj_x, .adj_y = adj_y});
  return {split(product, a, b, c), c.batch + c.left + c.right};
}

void einsum_body(CompositeContext& c) {
  const std::string_view text = c.text("equation");
  const Equation equation = parse_equation(text);
  const auto count = static_cast<size_t>(c.num_inputs());
  if (equation.inputs.size() != count) {
    invalid("inputs: expected {}, as in '{}', got {}", equation.inputs.size(), text, count);
  }
  Operand x = operand_of(c.in(0), equation.inputs[0], 0, equation.output);
  expect_ellipsis(x, equation, text);
  // From left to right: each product keeps the letters of the output and of later operands.
  for (size_t i = 1; i < count; ++i) {
    const Operand y = operand_of(c.in(static_cast<int>(i)), equation.inputs[i], static_cast<int>(i), equation.output);
    expect_ellipsis(y, equation, text);
    std::string kept = equation.output;
    for (size_t later = i + 1; later < count; ++later) {
      for (const char letter : equation.inputs[later]) kept += has(kept, letter) ? "" : std::string(1, letter);
    }
    x = x.summed_but(kept + y.axes());
    x = product_of(x, y.summed_but(kept + x.axes()), kept);
  }
  std::string output = equation.output;
  x = x.summed_but(output);
  if (!x.has('.')) output = without(output, '.');
  const Tensor result = x.ordered(output).tensor();
  c.set_out(0, result.id() == c.in(0).id() ? identity(result) : result);
}

}  // namespace

// Not `.in_tensorflow`: TensorFlow's op does not accept equations without `->` or with spaces; its Python front end
// handles both.
const Op& kEinsum = define_op(
    "Einsum(inputs: N*T; equation: string, N: int >= 1, T: type) -> (output: T)",
    {.doc = "The sum of products that `equation` names in Einstein's notation, such as \"bij,bjk->bik\": a letter for "
            "each dimension of the inputs, and what the result is to have. Other letters are summed over; "
            "a letter that one input has twice takes its diagonal. `...` stands for further dimensions, which "
            "broadcast. Without `->` the result has the ellipsis and the letters that occur once, sorted. Of three and "
            "more inputs products are taken from left to right.",
     .body = einsum_body});

}  // namespace panto
