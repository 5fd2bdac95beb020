#include "panto/tests/ops/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <deque>

#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/tests/accelerator.h"
#include "panto/tests/ops/questions/questions.h"

namespace panto::test {
namespace {

namespace ut = boost::unit_test;

std::vector<const Row*>& rows() {
  static auto* list = new std::vector<const Row*>;
  return *list;
}

ut::test_suite& suite(ut::test_suite& parent, const std::string& name, const std::source_location& where) {
  const ut::test_unit_id id = parent.get(name);
  if (id != ut::INV_TEST_UNIT_ID) return ut::framework::get<ut::test_suite>(id);
  auto* made = new ut::test_suite(name, where.file_name(), where.line());
  parent.add(made);
  return *made;
}

// A case, whose failures name the row's line.
ut::test_case& enter(ut::test_suite& parent, const std::string& name, const Row& row, std::function<void()> body) {
  ut::test_case* made =
      ut::make_test_case(boost::function<void()>(std::move(body)), name, row.where.file_name(), row.where.line());
  parent.add(made);
  return *made;
}

// A case on_device/<row>. Which ops have a kernel there is known only when there is such a device.
void enter_on_device(const Row& row) {
  ut::test_suite& master = ut::framework::master_test_suite();
  const bool first = master.get("on_device") == ut::INV_TEST_UNIT_ID;
  ut::test_suite& there = suite(master, "on_device", row.where);
  if (first) {
    there.add_label("cuda");
    there.add_precondition(has_accelerator);
  }
  ut::test_case& made = enter(there, row.name(), row, [&row] {
    BOOST_TEST_CONTEXT("row at " << row.where.file_name() << ":" << row.where.line()) {
      ask_within_limit(device_question(), row);
    }
  });
  made.add_precondition([&row](ut::test_unit_id) {
    boost::test_tools::assertion_result result(row.op().has_kernel(accelerator()->kind()) &&
                                               has_samples_for(row, accelerator()->kind()));
    if (!result) result.message() << "the op has no kernel there, or none for a sample";
    return result;
  });
}

void enter_row(const Row& row) {
  ut::test_suite& ops = suite(ut::framework::master_test_suite(), "ops", row.where);
  ut::test_suite& own = suite(ops, row.name(), row.where);
  const Op* op = nullptr;
  try {
    op = find_op(row.op_name);
  } catch (const Error&) {
    // link_ops() drops what is faulty and reports it once: a test of its own calls it.
    op = find_op(row.op_name);
  }
  if (op == nullptr) {
    enter(own, "exists", row, [&row] { BOOST_ERROR("no op is called " << row.op_name); });
    return;
  }
  static size_t rows = 0;
  size_t turn = rows++;
  for (const Question& q : questions()) {
    ++turn;
    if (!q.applies(row, *op)) {
      if (q.about_gradients && (op->gradient() != nullptr || op->body() != nullptr)) {
        note_unanswered(row, q.name,
                        row.d.samples.empty() ? "it has no samples" : "its samples or types are not for it");
      }
      continue;
    }
    ut::test_case& made = enter(own, q.name, row, [&row, &q] {
      BOOST_TEST_CONTEXT("row at " << row.where.file_name() << ":" << row.where.line()) { ask_within_limit(q, row); }
    });
    if (q.about_graphs && turn % 4 != 0) made.add_label("heavy");
  }
  if (device_question().applies(row, *op)) enter_on_device(row);
  for (const OwnTest& test : row.d.own) enter(own, test.name, row, test.run);
}

// The samples of an elementwise row: a scalar, a small matrix, and a length that leaves a tail in every vector loop.
std::vector<Sample> elementwise_samples(const Row& row, int operands) {
  std::vector<Sample> samples;
  int seed = 0;
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{}, {2, 3}, {37}}) {
    Sample s;
    for (int i = 0; i < operands; ++i) {
      s.in.push_back(draw(dims, row.domains[i].low, row.domains[i].high, seed++));
    }
    samples.push_back(std::move(s));
  }
  return samples;
}

DType type_of_attr(const AttrDef& def) {
  if (def.default_value.kind() == AttrKind::kType) return def.default_value.as<DType>();
  for (const DType t : {kInt32, kFloat32, kInt64, kBool, kString, kResource}) {
    if (def.allowed_types.contains(t)) return t;
  }
  for (int t = 0; t < kDTypeSlots; ++t) {
    if (def.allowed_types.contains(static_cast<DType>(t))) return static_cast<DType>(t);
  }
  return DType::kInvalid;
}

const Attr* find_attr(const Attrs& attrs, const std::string& name) {
  const auto it = std::ranges::find_if(attrs, [&](const Attr& a) { return a.name == name; });
  return it == attrs.end() ? nullptr : &*it;
}

// The type of flat input `i`, which belongs to argument `arg`.
DType input_type(const Op& op, const ArgDef& arg, const Array& a, DType primary, const Attrs& attrs,
                 const std::vector<std::pair<int, DType>>& others) {
  if (a.type != DType::kInvalid) return a.type;
  if (arg.type_list_attr >= 0) return primary != DType::kInvalid ? primary : kFloat32;
  if (arg.type_attr < 0) {
    if (!a.is_variable && !a.is_list) return arg.dtype;
    return primary != DType::kInvalid ? primary : kFloat32;  // of the variable's value, or of the list's elements
  }
  if (arg.type_attr == op.primary_attr()) return primary;
  for (const auto& [attr, type] : others) {
    if (attr == arg.type_attr) return type;
  }
  const AttrDef& def = op.signature().attrs[static_cast<size_t>(arg.type_attr)];
  const Attr* given = find_attr(attrs, def.name);
  return given != nullptr ? given->value.as<DType>() : type_of_attr(def);
}

}  // namespace

// ---- Rows -------------------------------------------------------------------------------------------------------

Row::Row(const char* op, Domain x, Unary f, Details details, std::source_location at)
    : op_name(op), d(std::move(details)), where(at), operands(1), unary(f), domains{x, {}} {
  if (d.samples.empty()) d.samples = elementwise_samples(*this, 1);
  d.reference = [f](const Given& g) {
    Array y = g.in[0];
    for (double& v : y.values) v = f(v);
    return std::vector<Array>{y};
  };
}

Row::Row(const char* op, Domain x, Domain y, Binary f, Details details, std::source_location at)
    : op_name(op), d(std::move(details)), where(at), operands(2), binary(f), domains{x, y} {
  if (d.samples.empty()) d.samples = elementwise_samples(*this, 2);
  d.reference = [f](const Given& g) {
    Array z;
    const auto &a = g.in[0], &b = g.in[1];
    const size_t rank = std::max(a.dims.size(), b.dims.size());
    for (size_t k = 0; k < rank; ++k) {
      const size_t from_end = rank - k;
      const int64_t da = from_end <= a.dims.size() ? a.dims[a.dims.size() - from_end] : 1;
      const int64_t db = from_end <= b.dims.size() ? b.dims[b.dims.size() - from_end] : 1;
      z.dims.push_back(da == 1 ? db : da);
    }
    for (size_t i = 0; i < static_cast<size_t>(z.numel()); ++i) {
      z.values.push_back(f(a.values[a.broadcast_position(z.dims, i)], b.values[b.broadcast_position(z.dims, i)]));
    }
    return std::vector<Array>{z};
  };
}

Row::Row(const char* op, Details details, std::source_location at) : op_name(op), d(std::move(details)), where(at) {}

std::string Row::name() const { return *d.label == '\0' ? op_name : fmt::format("{}-{}", op_name, d.label); }

Family::Family(const char* name, std::vector<Row> given) {
  static_cast<void>(name);
  static std::deque<std::vector<Row>> families;  // rows are pointed to as long as the program runs
  for (const Row& row : families.emplace_back(std::move(given))) {
    rows().push_back(&row);
    enter_row(row);
  }
}

const std::vector<const Row*>& all_rows() { return rows(); }

// ---- Samples ----------------------------------------------------------------------------------------------------

const AttrValue& Given::find(const char* name) const {
  if (const Attr* a = find_attr(attrs, name)) return a->value;
  const int at = op.signature().find_attr(name);
  if (at < 0) fail(Code::kInternal, fmt::format("reference of {}: no attribute {}", op.name(), name));
  return op.signature().attrs[static_cast<size_t>(at)].default_value;
}

bool Given::flag(const char* name) const { return find(name).as<bool>(); }
int64_t Given::integer(const char* name) const { return find(name).as<int64_t>(); }
double Given::real(const char* name) const { return static_cast<double>(find(name).as<float>()); }
std::string Given::text(const char* name) const { return find(name).as<std::string>(); }
std::vector<int64_t> Given::integers(const char* name) const { return find(name).as<std::vector<int64_t>>(); }
std::vector<std::string> Given::texts(const char* name) const { return find(name).as<std::vector<std::string>>(); }

std::vector<int> argument_of_inputs(const Op& op, size_t count, const Attrs& attrs) {
  const Signature& s = op.signature();
  std::vector<int> result;
  const auto lists = std::ranges::count_if(s.inputs, [](const ArgDef& a) { return a.is_list(); });
  for (size_t a = 0; a < s.inputs.size(); ++a) {
    int64_t n = 1;
    if (s.inputs[a].is_list()) {
      n = static_cast<int64_t>(count) - (static_cast<int64_t>(s.inputs.size()) - lists);
      const int number = s.inputs[a].number_attr, types = s.inputs[a].type_list_attr;
      const Attr* given = find_attr(attrs, s.attrs[static_cast<size_t>(number >= 0 ? number : types)].name);
      n = given == nullptr ? n / std::max<int64_t>(1, lists)
          : number >= 0    ? given->value.as<int64_t>()
                           : static_cast<int64_t>(given->value.as<std::vector<DType>>().size());
    }
    for (int64_t i = 0; i < n; ++i) result.push_back(static_cast<int>(a));
  }
  result.resize(count, -1);
  return result;
}

bool fits(const Row& row, const Sample& sample, DType type) {
  const Op& op = row.op();
  const std::vector<int> args = argument_of_inputs(op, sample.in.size(), sample.attrs);
  for (size_t i = 0; i < sample.in.size(); ++i) {
    if (args[i] < 0) return true;
    const ArgDef& arg = op.signature().inputs[static_cast<size_t>(args[i])];
    const Array& a = sample.in[i];
    if (arg.type_attr == op.primary_attr() && arg.type_attr >= 0 && a.type != DType::kInvalid && a.type != type) {
      return false;
    }
    if (!fits(a, input_type(op, arg, a, type, sample.attrs, {}))) return false;
    // The expected values are written for the inputs as they are.
    if (a.drawn && !sample.out.empty()) fail(Code::kInternal, "sample: drawn values beside expected ones");
  }
  return true;
}

Bound bind(const Row& row, const Sample& sample, DType type, const std::vector<std::pair<int, DType>>& others) {
  const Op& op = row.op();
  Bound b{&row, &op, type, {}, sample.attrs, {op, {}, sample.attrs, type}};
  const std::vector<int> args = argument_of_inputs(op, sample.in.size(), sample.attrs);
  for (size_t i = 0; i < sample.in.size(); ++i) {
    const Array& a = sample.in[i];
    DType t = a.type != DType::kInvalid ? a.type : kFloat32;
    if (args[i] >= 0) {
      t = input_type(op, op.signature().inputs[static_cast<size_t>(args[i])], a, type, sample.attrs, others);
    }
    b.in.push_back(to_tensor(a, t));
    b.given.in.push_back(rounded_to(a, t));
    b.given.in.back().type = t;
  }
  // A type attribute that no input tells.
  auto set_type = [&](int attr, DType t) {
    const AttrDef& def = op.signature().attrs[static_cast<size_t>(attr)];
    if (!def.inferred && find_attr(b.attrs, def.name) == nullptr) b.attrs.emplace_back(def.name.c_str(), t);
  };
  if (op.primary_attr() >= 0 && type != DType::kInvalid) set_type(op.primary_attr(), type);
  for (const auto& [attr, t] : others) set_type(attr, t);
  return b;
}

std::vector<std::pair<std::string, AttrValue>> Bound::attr_pairs() const {
  std::vector<std::pair<std::string, AttrValue>> pairs;
  for (const Attr& a : attrs) pairs.emplace_back(a.name, a.value);
  return pairs;
}

std::vector<AttrValue> Bound::attr_values() const {
  std::vector<AttrValue> values(op->signature().attrs.size());
  for (const Attr& a : attrs) {
    const int at = op->signature().find_attr(a.name);
    if (at >= 0) values[static_cast<size_t>(at)] = a.value;
  }
  return values;
}

std::vector<Tensor> Bound::call() const { return call(in); }

std::vector<Tensor> Bound::call(std::span<const Tensor> inputs) const {
  dispatch::Outputs outputs = dispatch::call(op->name(), inputs, attr_pairs());
  return {outputs.begin(), outputs.end()};
}

std::vector<Array> Bound::expected(const Sample& sample) const {
  if (!sample.out.empty()) return sample.out;
  return row->d.reference(given);
}

std::vector<Tensor> Bound::variables() const {
  std::vector<Tensor> values;
  for (size_t i = 0; i < in.size(); ++i) {
    if (given.in[i].is_variable) values.push_back(variable_of(in[i]).read());
  }
  return values;
}

std::string Bound::text() const {
  std::string result(type == DType::kInvalid ? "untyped" : dtype_name(type));
  result += ", in:";
  for (size_t i = 0; i < in.size(); ++i) {
    result += fmt::format("{} {}{}", i > 0 ? "," : "", dtype_name(in[i].dtype()), in[i].partial_shape().to_string());
  }
  for (size_t i = 0; i < attrs.size(); ++i) {
    result += fmt::format("{} {}={}", i > 0 ? "," : ";", attrs[i].name, attrs[i].value.to_string());
  }
  return result;
}

std::vector<DType> types_of(const Row& row, DeviceKind kind) {
  const Op& op = row.op();
  if (op.primary_attr() < 0) return {DType::kInvalid};
  const DTypeSet allowed = op.signature().attrs[static_cast<size_t>(op.primary_attr())].allowed_types & row.d.types;
  // What a composite is made of has kernels for these at least.
  const bool any = (dtypes::kAny - row.d.types).empty();
  const DTypeSet composite = any ? dtypes::kFloating : row.d.types;
  const DTypeSet there =
      op.is_composite() && kind == DeviceKind::kCpu ? composite | op.kernel_types(kind) : op.kernel_types(kind);
  std::vector<DType> result;
  for (const DType t : {kFloat32, kFloat64, kInt32, kInt64}) {
    if ((allowed & there).contains(t)) result.push_back(t);
  }
  for (int i = 0; i < kDTypeSlots; ++i) {
    const auto t = static_cast<DType>(i);
    if ((allowed & there).contains(t) && std::ranges::find(result, t) == result.end()) result.push_back(t);
  }
  return result;
}

DType first_type(const Row& row) {
  const std::vector<DType> types = types_of(row);
  return types.empty() ? DType::kInvalid : types[0];
}

void for_each_bound(const Row& row, const std::function<void(const Sample&, const Bound&)>& f) {
  for (const DType t : types_of(row)) {
    for (const Sample& s : row.d.samples) {
      if (fits(row, s, t)) f(s, bind(row, s, t));
    }
  }
}

void for_each_sample(const Row& row, const std::function<void(const Sample&, const Bound&)>& f) {
  for (const Sample& s : row.d.samples) {
    for (const DType t : types_of(row)) {
      if (!fits(row, s, t)) continue;
      f(s, bind(row, s, t));
      break;
    }
  }
}

}  // namespace panto::test
