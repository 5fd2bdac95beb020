// Replays what TensorFlow computed (tests/reference): every stored call through the dispatcher, by op name.
#include <fmt/format.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "panto/autograd/tape.h"
#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/io/npy.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/ops/table.h"

namespace panto::test {
namespace {

using Json = nlohmann::json;
using AttrPairs = std::vector<std::pair<std::string, AttrValue>>;

struct Collection {
  Json json;
  std::map<std::string, Tensor> arrays;

  explicit Collection(const std::string& name) {
    const std::string path = PANTO_TEST_SOURCE "/tests/reference/values/" + name;
    std::ifstream(path + ".json") >> json;
    for (const auto& [key, value] : read_npz(path + ".npz")) arrays[key] = value;
    // Stored as their bits.
    for (const Json& key : json["bfloat16"]) {
      Tensor& t = arrays[key.get<std::string>()];
      t = tensor_from_bytes(kBFloat16, t.shape(), t.impl()->data, t.nbytes());
    }
  }
  const Tensor& operator[](const Json& key) const { return arrays.at(key.get<std::string>()); }
};

template <class T, class Convert>
std::vector<T> list_of(const Json& json, Convert convert) {
  std::vector<T> values;
  for (const Json& item : json) values.push_back(convert(item));
  return values;
}

DType type_of(const Json& json) { return parse_dtype(json.get<std::string>()); }
int64_t integer_of(const Json& json) { return json.get<int64_t>(); }

PartialShape shape_of_json(const Json& json) {
  if (json.is_null()) return {};
  return PartialShape(std::span<const int64_t>(list_of<int64_t>(json, integer_of)));
}

AttrValue attr_value(AttrKind kind, const Json& json) {
  switch (kind) {
    case AttrKind::kInt: return AttrValue(json.get<int64_t>());
    case AttrKind::kFloat: return AttrValue(json.get<float>());
    case AttrKind::kBool: return AttrValue(json.get<bool>());
    case AttrKind::kType: return AttrValue(type_of(json));
    case AttrKind::kString: return AttrValue(json.get<std::string>());
    case AttrKind::kShape: return AttrValue(shape_of_json(json));
    case AttrKind::kShapeList: return AttrValue(list_of<PartialShape>(json, shape_of_json));
    case AttrKind::kIntList: return AttrValue(list_of<int64_t>(json, integer_of));
    case AttrKind::kFloatList:
      return AttrValue(list_of<float>(json, [](const Json& item) { return item.get<float>(); }));
    case AttrKind::kTypeList: return AttrValue(list_of<DType>(json, type_of));
    case AttrKind::kStringList:
      return AttrValue(list_of<std::string>(json, [](const Json& item) { return item.get<std::string>(); }));
    default: fail(Code::kUnimplemented, fmt::format("stored attribute of kind {}", attr_kind_name(kind)));
  }
}

AttrPairs attrs_of(const Op& op, const Json& entry) {
  AttrPairs attrs;
  for (const auto& [name, json] : entry["attrs"].items()) {
    const int at = op.signature().find_attr(name);
    if (at < 0) fail(Code::kInvalidArgument, fmt::format("{} has no attribute {}", op.name(), name));
    attrs.emplace_back(name, attr_value(op.signature().attrs[static_cast<size_t>(at)].kind, json));
  }
  return attrs;
}

Tensor make_variable(const std::string& name, const Tensor& value) {
  const AttrPairs attrs = {{"dtype", AttrValue(value.dtype())},
                           {"shape", AttrValue(value.partial_shape())},
                           {"shared_name", AttrValue(name)}};
  const Tensor handle = dispatch::call("VarHandleOp", {}, attrs)[0];
  const Tensor inputs[] = {handle, value};
  dispatch::call("AssignVariableOp", inputs);
  return handle;
}

void check(const Json& entry, const std::string& what, const Tensor& expected, const Tensor& got) {
  std::string text;
  const auto rtol = entry.value("rtol", 0.0);
  const auto atol = entry.value("atol", 0.0);
  if (rtol == 0 && atol == 0) {
    text = difference(expected, got);
  } else {
    if (expected.dtype() != got.dtype()) {
      text = fmt::format("dtype: expected {}, got {}", dtype_name(expected.dtype()), dtype_name(got.dtype()));
    } else {
      // atol + rtol * |b| is at most 2 * rtol * max(|b|, atol / rtol), and at least half of that.
      const double unit = epsilon(expected.dtype());
      const Tolerance tolerance = rtol > 0 ? Tolerance{rtol / unit, atol / rtol} : Tolerance{atol / unit * 1e6, 1e-6};
      text = difference(to_array(expected), got, tolerance);
    }
  }
  BOOST_CHECK_MESSAGE(text.empty(), entry["name"].get<std::string>() << ", " << what << ": " << text);
}

void replay(const Collection& all, const Json& entry, int number) {
  const auto name = entry["name"].get<std::string>();
  try {
    const Op& op = get_op(entry["op"].get<std::string>());
    std::vector<Tensor> variables;
    for (const Json& key : entry.value("variables", Json::array())) {
      variables.push_back(make_variable(fmt::format("replay_{}_{}", number, variables.size()), all[key]));
    }
    std::vector<Tensor> inputs;
    for (const Json& key : entry["inputs"]) {
      const auto text = key.get<std::string>();
      inputs.push_back(text[0] == '@' ? variables[std::stoul(text.substr(1))] : all[key]);
    }
    const dispatch::Outputs outputs = dispatch::call(op.name(), inputs, attrs_of(op, entry));
    BOOST_REQUIRE_EQUAL(outputs.size(), entry["outputs"].size());
    for (size_t k = 0; k < outputs.size(); ++k) {
      check(entry, fmt::format("output {}", k), all[entry["outputs"][k]], outputs[k]);
    }
    for (size_t v = 0; v < variables.size(); ++v) {
      check(entry, fmt::format("variable {}", v), all[entry["after"][v]], variable_of(variables[v]).read());
    }
  } catch (const Error& error) {
    BOOST_ERROR(name << ": " << error.what());
  }
}

// A node with state, run several times, each time asked for the shape that the stored output has.
void replay_sequence(const Collection& all, const Json& entry) {
  const auto name = entry["name"].get<std::string>();
  try {
    const Op& op = get_op(entry["op"].get<std::string>());
    std::vector<AttrValue> attrs(op.signature().attrs.size());
    for (auto& [attr, value] : attrs_of(op, entry)) attrs[static_cast<size_t>(op.signature().find_attr(attr))] = value;
    const Tensor shape_spec[] = {meta_tensor(kInt32, PartialShape{-1})};
    const auto prepared = dispatch::prepare(op, shape_spec, attrs, cpu_device(), name);
    for (size_t k = 0; k < entry["outputs"].size(); ++k) {
      const Tensor& expected = all[entry["outputs"][k]];
      std::vector<int32_t> dims;
      for (const int64_t d : expected.shape().dims()) dims.push_back(static_cast<int32_t>(d));
      const Tensor shape = tensor(dims);
      const Tensor* inputs[] = {&shape};
      Tensor output[1];
      dispatch::run(*prepared, current_step(), inputs, output);
      check(entry, fmt::format("run {}", k), expected, output[0]);
    }
  } catch (const Error& error) {
    BOOST_ERROR(name << ": " << error.what());
  }
}

bool is_float(const Tensor& t) { return t.dtype() == kFloat32 || t.dtype() == kFloat64; }

// The sum of the elements of these outputs, each times its weight: element i has (i mod 7 - 3) / 4.
Tensor weighted_sum(const dispatch::Outputs& outputs, const Json& which) {
  Tensor total = tensor(0.0);
  for (const Json& number : which) {
    const Tensor& y = outputs[number.get<size_t>()];
    std::vector<double> weights(static_cast<size_t>(y.numel()));
    for (size_t i = 0; i < weights.size(); ++i) weights[i] = (static_cast<double>(i % 7) - 3) / 4;
    total = total + cast(sum(reshape(y, {-1}) * cast(tensor(weights), y.dtype())), kFloat64);
  }
  return total;
}

// Where TensorFlow finds no way there may be one: finite differences judge it (tests/ops/questions).
void check_gradients(const Collection& all, const Json& entry, const char* order, const std::vector<Tensor>& got) {
  for (size_t k = 0; k < got.size(); ++k) {
    const Json& key = entry[order][k];
    const std::string what = fmt::format("{} gradient by float input {}", order, k);
    if (key.is_null()) continue;
    if (got[k].defined()) {
      check(entry, what, all[key], got[k]);
      continue;
    }
    const std::vector<double> values = to_array(all[key]).values;
    BOOST_CHECK_MESSAGE(std::ranges::all_of(values, [](double v) { return v == 0; }),
                        entry["name"].get<std::string>() << ", " << what << ": expected one, got none");
  }
}

void replay_gradients(const Collection& all, const Json& entry) {
  const auto name = entry["name"].get<std::string>();
  try {
    const Op& op = get_op(entry["op"].get<std::string>());
    std::vector<Tensor> inputs, floats;
    for (const Json& key : entry["inputs"]) {
      const Tensor& t = all[key];  // equal ones are stored once, and are several inputs
      inputs.push_back(is_float(t) ? tensor_from_bytes(t.dtype(), t.shape(), t.impl()->data, t.nbytes()) : t);
      if (is_float(t)) floats.push_back(inputs.back());
    }
    GradientTape outer, inner;
    for (const Tensor& x : floats) outer.watch(x);
    for (const Tensor& x : floats) inner.watch(x);
    const std::vector<Tensor> first =
        inner.gradient(weighted_sum(dispatch::call(op.name(), inputs, attrs_of(op, entry)), entry["outputs"]), floats);
    check_gradients(all, entry, "first", first);
    if (!entry.contains("second")) return;
    Tensor squares = tensor(0.0);
    for (size_t k = 0; k < first.size(); ++k) {
      const bool counts = first[k].defined() && !entry["first"][k].is_null();
      if (counts) squares = squares + cast(sum(square(first[k])), kFloat64);
    }
    check_gradients(all, entry, "second", outer.gradient(squares, floats));
  } catch (const Error& error) {
    BOOST_ERROR(name << ": " << error.what());
  }
}

// One test case for each op.
class Replay {
 public:
  Replay() {
    namespace ut = boost::unit_test;
    auto* suite = new ut::test_suite("replay", __FILE__, __LINE__);
    ut::framework::master_test_suite().add(suite);
    for (const char* file : {"ops", "parsing", "random", "numeric", "quantized", "every", "gradients"}) {
      const auto all = std::make_shared<const Collection>(file);
      for (const char* list : {"cases", "sequences"}) {
        if (!all->json.contains(list)) continue;
        std::map<std::string, std::vector<const Json*>> by_op;
        for (const Json& entry : all->json[list]) by_op[entry["op"].get<std::string>()].push_back(&entry);
        for (const auto& [op, entries] : by_op) {
          const bool sequences = std::string(list) == "sequences", gradients = std::string(file) == "gradients";
          suite->add(ut::make_test_case(
              [all, entries, sequences, gradients] {
                static int number = 0;
                for (const Json* entry : entries) {
                  if (gradients) {
                    replay_gradients(*all, *entry);
                  } else if (sequences) {
                    replay_sequence(*all, *entry);
                  } else {
                    replay(*all, *entry, number++);
                  }
                }
              },
              std::string(file) == "ops" ? op : fmt::format("{}-{}", op, sequences ? "sequences" : file), __FILE__,
              __LINE__));
        }
      }
    }
  }
};
const Replay kReplay;

}  // namespace
}  // namespace panto::test
