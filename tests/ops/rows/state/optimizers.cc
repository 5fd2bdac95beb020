// Samples of optimizers' steps, of whole variables and of rows: formulas from the papers that the ops' texts name, an
// element at a time in float64.
#include <algorithm>
#include <cmath>
#include <deque>

#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::optimizers_rows {
namespace {

// One element: its gradient, its variables, the scalars among the inputs in order.
using Step = void (*)(const Given&, double g, std::vector<double>& v, const std::vector<double>& s);

// Scalars that a step is not made with.
struct Refused {
  std::vector<double> scalars;
  const char* text;
};

struct Rule {
  const char* name;
  std::vector<Array> slots;  // 0 and 1 of each are the ends of where its values lie
  std::vector<double> scalars;
  size_t grad;  // its position among the inputs
  Step step;
  std::vector<Attrs> attrs = {{}};
  bool dense = true, sparse = true;
  std::vector<Refused> refused = {};       // of whole variables and of rows
  std::vector<Refused> refused_rows = {};  // of rows only
};

double sign(double x) { return static_cast<double>(x > 0) - static_cast<double>(x < 0); }
// The x that is best for |x - y|^2 / 2 + rate (l1 |x| + l2 x^2 / 2).
double proximal(double y, double rate, double l1, double l2) {
  return sign(y) * std::max(std::abs(y) - rate * l1, 0.) / (1 + rate * l2);
}

void adadelta(const Given&, double g, std::vector<double>& v, const std::vector<double>& s) {
  const double lr = s[0], rho = s[1], epsilon = s[2];
  v[1] = rho * v[1] + (1 - rho) * g * g;
  const double update = std::sqrt((v[2] + epsilon) / (v[1] + epsilon)) * g;
  v[2] = rho * v[2] + (1 - rho) * update * update;
  v[0] -= lr * update;
}
void adagrad(const Given& given, double g, std::vector<double>& v, const std::vector<double>& s) {
  if (given.flag("update_slots")) v[1] += g * g;
  v[0] -= s[0] * g / std::sqrt(v[1]);
}
void adagrad_v2(const Given& given, double g, std::vector<double>& v, const std::vector<double>& s) {
  if (given.flag("update_slots")) v[1] += g * g;
  v[0] -= s[0] * g / (std::sqrt(v[1]) + s[1]);
}
void adagrad_da(const Given&, double g, std::vector<double>& v, const std::vector<double>& s) {
  const double lr = s[0], l1 = s[1], l2 = s[2], steps = s[3];
  v[1] += g;
  v[2] += g * g;
  v[0] = -lr * sign(v[1]) * std::max(std::abs(v[1]) - l1 * steps, 0.) / (l2 * steps * lr + std::sqrt(v[2]));
}
void proximal_adagrad(const Given&, double g, std::vector<double>& v, const std::vector<double>& s) {
  v[1] += g * g;
  const double rate = s[0] / std::sqrt(v[1]);
  v[0] = proximal(v[0] - rate * g, rate, s[1], s[2]);
}
void proximal_descent(const Given&, double g, std::vector<double>& v, const std::vector<double>& s) {
  v[0] = proximal(v[0] - s[0] * g, s[0], s[1], s[2]);
}
void ada_max(const Given&, double g, std::vector<double>& v, const std::vector<double>& s) {
  const double beta1_power = s[0], lr = s[1], beta1 = s[2], beta2 = s[3], epsilon = s[4];
  v[1] = beta1 * v[1] + (1 - beta1) * g;
  v[2] = std::max(beta2 * v[2], std::abs(g));
  v[0] -= lr / (1 - beta1_power) * v[1] / (v[2] + epsilon);
}
void amsgrad(const Given&, double g, std::vector<double>& v, const std::vector<double>& s) {
  const double beta1_power = s[0], beta2_power = s[1], lr = s[2], beta1 = s[3], beta2 = s[4], epsilon = s[5];
  v[1] = beta1 * v[1] + (1 - beta1) * g;
  v[2] = beta2 * v[2] + (1 - beta2) * g * g;
  v[3] = std::max(v[3], v[2]);
  v[0] -= lr * std::sqrt(1 - beta2_power) / (1 - beta1_power) * v[1] / (std::sqrt(v[3]) + epsilon);
}
void ftrl_of(const Given& given, double g, double shrunk, std::vector<double>& v, double lr, double l1, double l2,
             double lr_power) {
  const bool by_lr = given.flag("multiply_linear_by_lr");
  const double unit = by_lr ? lr : 1;  // of linear
  const double next = v[1] + g * g;
  const double sigma = (std::pow(next, -lr_power) - std::pow(v[1], -lr_power)) / lr;
  v[2] += unit * (shrunk - sigma * v[0]);
  v[1] = next;
  const double z = v[2] / unit;
  v[0] = std::abs(z) <= l1 ? 0 : (l1 * sign(z) - z) / (std::pow(next, -lr_power) / lr + 2 * l2);
}
void ftrl(const Given& given, double g, std::vector<double>& v, const std::vector<double>& s) {
  ftrl_of(given, g, g, v, s[0], s[1], s[2], s[3]);
}
void ftrl_v2(const Given& given, double g, std::vector<double>& v, const std::vector<double>& s) {
  ftrl_of(given, g, g + 2 * s[3] * v[0], v, s[0], s[1], s[2], s[4]);
}
void add_sign(const Given&, double g, std::vector<double>& v, const std::vector<double>& s) {
  v[1] = s[3] * v[1] + (1 - s[3]) * g;
  v[0] -= s[0] * (s[1] + s[2] * sign(g) * sign(v[1])) * g;
}
void power_sign(const Given&, double g, std::vector<double>& v, const std::vector<double>& s) {
  v[1] = s[3] * v[1] + (1 - s[3]) * g;
  v[0] -= s[0] * std::exp(s[1] * s[2] * sign(g) * sign(v[1])) * g;
}
void momentum(const Given& given, double g, std::vector<double>& v, const std::vector<double>& s) {
  v[1] = s[1] * v[1] + g;
  v[0] -= s[0] * (given.flag("use_nesterov") ? g + s[1] * v[1] : v[1]);
}
void keras_momentum(const Given& given, double g, std::vector<double>& v, const std::vector<double>& s) {
  v[1] = s[1] * v[1] - s[0] * g;
  v[0] += given.flag("use_nesterov") ? s[1] * v[1] - s[0] * g : v[1];
}
void rms_prop(const Given&, double g, std::vector<double>& v, const std::vector<double>& s) {
  v[1] = s[1] * v[1] + (1 - s[1]) * g * g;
  v[2] = s[2] * v[2] + s[0] * g / std::sqrt(v[1] + s[3]);
  v[0] -= v[2];
}
void centered_rms_prop(const Given&, double g, std::vector<double>& v, const std::vector<double>& s) {
  v[2] = s[1] * v[2] + (1 - s[1]) * g * g;
  v[1] = s[1] * v[1] + (1 - s[1]) * g;
  v[3] = s[2] * v[3] + s[0] * g / std::sqrt(v[2] - v[1] * v[1] + s[3]);
  v[0] -= v[3];
}

const Array kAny = list({-2, 2}), kPositive = list({0.1, 1}), kSmall = list({-0.5, 0.5}), kLarge = list({0.5, 1});
const std::vector<Attrs> kSlots = {{{"update_slots", true}}, {{"update_slots", false}}};
const std::vector<Attrs> kNesterov = {{{"use_nesterov", false}}, {{"use_nesterov", true}}};
const std::vector<Attrs> kLinear = {{{"multiply_linear_by_lr", false}}, {{"multiply_linear_by_lr", true}}};

std::vector<Rule> rules() {
  return {
      {"Adadelta", {kAny, kPositive, kPositive}, {0.125, 0.9, 1e-3}, 6, adadelta},
      {"Adagrad", {kAny, kPositive}, {0.125}, 3, adagrad, kSlots},
      {"AdagradV2", {kAny, kPositive}, {0.125, 1e-3}, 4, adagrad_v2, kSlots, false},
      {"AdagradDA", {kAny, kSmall, kPositive}, {0.125, 0.0625, 0.25, 3}, 3, adagrad_da},
      {"ProximalAdagrad",
       {kAny, kPositive},
       {0.125, 0.25, 0.5},
       5,
       proximal_adagrad,
       {{}},
       true,
       true,
       {{{0, 0.25, 0.5}, "lr: expected more than 0, got 0"},
        {{0.125, -0.25, 0.5}, "l1: expected at least 0, got -0.25"},
        {{0.125, 0.25, -0.5}, "l2: expected at least 0, got -0.5"}}},
      {"ProximalGradientDescent", {kAny}, {0.125, 0.25, 0.5}, 4, proximal_descent},
      {"AdaMax", {kAny, kSmall, kPositive}, {0.81, 0.01, 0.9, 0.999, 1e-3}, 8, ada_max, {{}}, true, false},
      {"AdamWithAmsgrad",
       {kAny, kSmall, kPositive, kPositive},
       {0.81, 0.998, 0.01, 0.9, 0.999, 1e-3},
       10,
       amsgrad,
       {{}},
       true,
       false},
      {"Ftrl",
       {kAny, kPositive, kAny},
       {0.125, 0.25, 0.5, -0.5},
       3,
       ftrl,
       kLinear,
       true,
       true,
       {},
       {{{0, 0.25, 0.5, -0.5}, "lr: expected more than 0, got 0"},
        {{0.125, 0.25, 0.5, 0.5}, "lr_power: expected at most 0, got 0.5"}}},
      {"FtrlV2",
       {kAny, kPositive, kAny},
       {0.125, 0.25, 0.5, 0.25, -0.25},
       3,
       ftrl_v2,
       kLinear,
       true,
       true,
       {},
       {{{0.125, 0.25, 0.5, -0.25, -0.25}, "l2_shrinkage: expected at least 0, got -0.25"}}},
      {"AddSign", {kAny, kSmall}, {0.125, 1, 0.5, 0.9}, 6, add_sign, {{}}, true, false},
      {"PowerSign", {kAny, kSmall}, {0.125, 1, 0.5, 0.9}, 6, power_sign, {{}}, true, false},
      {"Momentum", {kAny, kAny}, {0.125, 0.9}, 3, momentum, kNesterov, false},
      {"KerasMomentum", {kAny, kAny}, {0.125, 0.9}, 3, keras_momentum, kNesterov, false},
      {"RMSProp", {kAny, kPositive, kAny}, {0.01, 0.9, 0.5, 1e-3}, 7, rms_prop, {{}}, false},
      {"CenteredRMSProp", {kAny, kSmall, kLarge, kAny}, {0.01, 0.9, 0.5, 1e-3}, 8, centered_rms_prop, {{}}, false},
  };
}

// The inputs, in order; `indices` behind the gradient, if there are any.
std::vector<Array> inputs(const Rule& rule, const Index& dims, const Array& grad, const Array* indices) {
  std::vector<Array> in;
  for (size_t k = 0; k < rule.slots.size(); ++k) {
    const auto& ends = rule.slots[k].values;
    in.push_back(variable(draw(dims, ends[0], ends[1], static_cast<int>(k))));
  }
  for (size_t i = 0; i <= rule.scalars.size(); ++i) {
    if (in.size() == rule.grad) {
      in.push_back(grad);
      if (indices != nullptr) in.push_back(*indices);
    }
    if (i < rule.scalars.size()) in.push_back(scalar(rule.scalars[i]));
  }
  return in;
}

Reference after(const Rule& rule, bool sparse) {
  return [rule, sparse](const Given& g) {
    std::vector<Array> slots(g.in.begin(), g.in.begin() + static_cast<int64_t>(rule.slots.size()));
    std::vector<double> scalars;
    for (size_t i = slots.size(); i < g.in.size(); ++i) {
      if (i != rule.grad && !(sparse && i == rule.grad + 1)) scalars.push_back(g.in[i].values[0]);
    }
    const std::vector<double>& grad = g.in[rule.grad].values;
    const auto change = [&](size_t element, double gradient) {
      std::vector<double> values;
      for (const Array& slot : slots) values.push_back(slot.values[element]);
      rule.step(g, gradient, values, scalars);
      for (size_t k = 0; k < slots.size(); ++k) slots[k].values[element] = values[k];
    };
    if (!sparse) {
      for (size_t i = 0; i < grad.size(); ++i) change(i, grad[i]);
      return slots;
    }
    const std::vector<double>& rows = g.in[rule.grad + 1].values;
    const size_t width = rows.empty() ? 0 : grad.size() / rows.size();
    for (size_t i = 0; i < grad.size(); ++i) change(static_cast<size_t>(rows[i / width]) * width + i % width, grad[i]);
    return slots;
  };
}

// `rule` with other scalars is refused.
void refuse(Details& d, Rule rule, const std::vector<Refused>& refused, const Index& dims, const Array& grad,
            const Array* indices) {
  for (const Refused& r : refused) {
    rule.scalars = r.scalars;
    d.errors.push_back({.in = inputs(rule, dims, grad, indices), .text = r.text});
  }
}

Row dense_row(const Rule& rule, const char* op) {
  Details d;
  for (const Attrs& attrs : rule.attrs) {
    for (const Index& dims : {Index{2, 3}, Index{37}, Index{0}}) {
      d.samples.push_back({.in = inputs(rule, dims, draw(dims, -1, 1, 7), nullptr), .attrs = attrs});
    }
  }
  const char* name = std::string(rule.name) == "ProximalGradientDescent" ? "delta" : "grad";
  d.errors = {{.in = inputs(rule, {2, 3}, draw({3}), nullptr),
               .text = std::string(name) + ": expected the variable's shape [2,3], got [3] [variable \"test_array_"}};
  refuse(d, rule, rule.refused, {2, 3}, draw({2, 3}), nullptr);
  d.after = after(rule, false);
  d.units = 64;
  d.effect = true;
  return {op, d};
}

Row sparse_row(const Rule& rule, const char* op) {
  Details d;
  const Array twice = list({1, 3, 1}), none = list({}), beyond = list({0, 4}), one = scalar(0);
  for (const Attrs& attrs : rule.attrs) {
    d.samples.push_back({.in = inputs(rule, {4, 3}, draw({3, 3}, -1, 1, 7), &twice), .attrs = attrs});
    d.samples.push_back({.in = inputs(rule, {5}, draw({3}, -1, 1, 7), &twice), .attrs = attrs});
    d.samples.push_back({.in = inputs(rule, {4, 2, 3}, draw({0, 2, 3}), &none), .attrs = attrs});
  }
  d.errors = {
      {.in = inputs(rule, {4, 3}, draw({2, 3}), &beyond), .text = "indices[1]: expected a row in [0, 4), got 4"},
      {.in = inputs(rule, {4, 3}, draw({2, 2}), &beyond),
       .text = "grad: expected shape [2,3], a row for each number, got [2,2]"},
      {.in = inputs(rule, {4}, draw({1}), &one), .text = "indices: expected a vector, got shape []"}};
  const Array last = list({3});
  refuse(d, rule, rule.refused, {4, 3}, draw({1, 3}), &last);
  refuse(d, rule, rule.refused_rows, {4, 3}, draw({1, 3}), &last);
  d.after = after(rule, true);
  d.units = 128;
  d.effect = true;
  return {op, d};
}

// Names live as long as the table.
const char* kept(const std::string& name) {
  static std::deque<std::string> names;
  return names.emplace_back(name).c_str();
}

std::vector<Row> rows() {
  std::vector<Row> all;
  for (const Rule& rule : rules()) {
    if (rule.dense) all.push_back(dense_row(rule, kept("ResourceApply" + std::string(rule.name))));
    if (rule.sparse) all.push_back(sparse_row(rule, kept("ResourceSparseApply" + std::string(rule.name))));
  }
  return all;
}

const Family optimizers("state", rows());

}  // namespace
}  // namespace panto::test::optimizers_rows
