#include "panto/lib/graph/files/wire/attr_proto.h"

#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/graph/check.h"

namespace panto {

namespace {

using Proto = graphdef::AttrValue;
using List = graphdef::AttrValue::ListValue;

std::string_view kind_text(Proto::ValueCase kind) {
  switch (kind) {
    case Proto::kList: return "a list";
    case Proto::kS: return "string";
    case Proto::kI: return "int";
    case Proto::kF: return "float";
    case Proto::kB: return "bool";
    case Proto::kType: return "type";
    case Proto::kShape: return "shape";
    case Proto::kTensor: return "tensor";
    case Proto::kPlaceholder: return "a placeholder";
    case Proto::kFunc: return "func";
    case Proto::VALUE_NOT_SET: break;
  }
  return "nothing";
}

Proto::ValueCase wire_kind(AttrKind kind) {
  switch (kind) {
    case AttrKind::kInt: return Proto::kI;
    case AttrKind::kFloat: return Proto::kF;
    case AttrKind::kBool: return Proto::kB;
    case AttrKind::kType: return Proto::kType;
    case AttrKind::kString: return Proto::kS;
    case AttrKind::kShape: return Proto::kShape;
    case AttrKind::kTensor: return Proto::kTensor;
    case AttrKind::kFunc: return Proto::kFunc;
    case AttrKind::kIntList:
    case AttrKind::kFloatList:
    case AttrKind::kBoolList:
    case AttrKind::kTypeList:
    case AttrKind::kStringList:
    case AttrKind::kShapeList:
    case AttrKind::kFuncList: return Proto::kList;
    case AttrKind::kNone: break;
  }
  return Proto::VALUE_NOT_SET;
}

int list_elements(const List& list) {
  return list.s_size() + list.i_size() + list.f_size() + list.b_size() + list.type_size() + list.shape_size() +
         list.tensor_size() + list.func_size();
}

// Reads the field of the list that `kind` uses; all others must be empty.
AttrValue read_list(AttrKind kind, const List& list) {
  const auto expect_only = [&](int size) {
    if (size != list_elements(list))
      invalid("expected {}, got a list with elements of another kind", attr_kind_name(kind));
  };
  switch (kind) {
    case AttrKind::kIntList:
      expect_only(list.i_size());
      return AttrValue(std::vector<int64_t>(list.i().begin(), list.i().end()));
    case AttrKind::kFloatList:
      expect_only(list.f_size());
      return AttrValue(std::vector<float>(list.f().begin(), list.f().end()));
    case AttrKind::kBoolList:
      expect_only(list.b_size());
      return AttrValue(std::vector<uint8_t>(list.b().begin(), list.b().end()));
    case AttrKind::kStringList:
      expect_only(list.s_size());
      return AttrValue(std::vector<std::string>(list.s().begin(), list.s().end()));
    case AttrKind::kTypeList: {
      expect_only(list.type_size());
      std::vector<DType> types;
      for (int type : list.type()) types.push_back(dtype_from_proto(type));
      return AttrValue(std::move(types));
    }
    case AttrKind::kShapeList: {
      expect_only(list.shape_size());
      std::vector<PartialShape> shapes;
      for (const auto& shape : list.shape()) shapes.push_back(shape_from_proto(shape));
      return AttrValue(std::move(shapes));
    }
    case AttrKind::kFuncList: {
      expect_only(list.func_size());
      std::vector<FunctionRef> functions;
      for (const auto& function : list.func()) functions.push_back({.name = function.name()});
      return AttrValue(std::move(functions));
    }
    default: break;
  }
  invalid("expected {}, got a list", attr_kind_name(kind));
}

AttrValue read(AttrKind kind, const Proto& proto, ExpansionBudget& budget) {
  const Proto::ValueCase expected = wire_kind(kind);
  if (expected == Proto::kList && proto.value_case() == Proto::VALUE_NOT_SET) return read_list(kind, List());
  if (proto.value_case() == Proto::kPlaceholder) {
    // Bodies of functions contain placeholders; the caller supplies the values.
    failf(Code::kUnimplemented, "expected {}, got a placeholder '{}' for one", attr_kind_name(kind),
          proto.placeholder());
  }
  if (proto.value_case() != expected) {
    invalid("expected {}, got {}", attr_kind_name(kind), kind_text(proto.value_case()));
  }
  switch (kind) {
    case AttrKind::kInt: return AttrValue(int64_t{proto.i()});
    case AttrKind::kFloat: return AttrValue(proto.f());
    case AttrKind::kBool: return AttrValue(proto.b());
    case AttrKind::kType: return AttrValue(dtype_from_proto(proto.type()));
    case AttrKind::kString: return AttrValue(std::string(proto.s()));
    case AttrKind::kShape: return AttrValue(shape_from_proto(proto.shape()));
    case AttrKind::kTensor: return AttrValue(tensor_from_proto(proto.tensor(), budget));
    case AttrKind::kFunc:
      if (proto.func().attr_size() > 0) fail(Code::kUnimplemented, "expected a function without attributes, got some");
      return AttrValue(FunctionRef{.name = proto.func().name()});
    default: return read_list(kind, proto.list());
  }
}

}  // namespace

AttrValue attr_from_proto(const AttrDef& attr, const Proto& proto, ExpansionBudget& budget) {
  try {
    return read(attr.kind, proto, budget);
  } catch (const Error& error) {
    // The attribute's name is added in front, because the leaves know only the value.
    fail(error.code(), fmt::format("attribute {}: {}", attr.name, error.message()));
  }
}

std::optional<AttrValue> note_from_proto(const Proto& proto) {
  ExpansionBudget none(0);
  if (proto.value_case() == Proto::kTensor || proto.value_case() == Proto::kFunc) return std::nullopt;
  std::optional<AttrValue> value = value_to_show(proto, none);
  if (!value) return value;
  Proto again;
  attr_to_proto(*value, &again);
  if (again.ByteSizeLong() != proto.ByteSizeLong()) return std::nullopt;  // the message has more than the value holds
  return value;
}

std::optional<AttrValue> value_to_show(const Proto& proto, ExpansionBudget& budget) {
  const auto kind = [&]() -> AttrKind {
    switch (proto.value_case()) {
      case Proto::kS: return AttrKind::kString;
      case Proto::kI: return AttrKind::kInt;
      case Proto::kF: return AttrKind::kFloat;
      case Proto::kB: return AttrKind::kBool;
      case Proto::kType: return AttrKind::kType;
      case Proto::kShape: return AttrKind::kShape;
      case Proto::kTensor: return AttrKind::kTensor;
      case Proto::kFunc: return AttrKind::kFunc;
      case Proto::kList: {
        const List& list = proto.list();
        if (list.i_size() > 0) return AttrKind::kIntList;
        if (list.f_size() > 0) return AttrKind::kFloatList;
        if (list.b_size() > 0) return AttrKind::kBoolList;
        if (list.type_size() > 0) return AttrKind::kTypeList;
        if (list.shape_size() > 0) return AttrKind::kShapeList;
        if (list.func_size() > 0) return AttrKind::kFuncList;
        return AttrKind::kStringList;
      }
      default: return AttrKind::kNone;
    }
  }();
  if (kind == AttrKind::kNone) return std::nullopt;
  if (kind == AttrKind::kFunc) return AttrValue(FunctionRef{.name = proto.func().name()});
  try {
    return read(kind, proto, budget);
  } catch (const Error&) {
    return std::nullopt;  // an attribute without a meaning here cannot be wrong
  }
}

bool is_zero(const Proto& proto) {
  switch (proto.value_case()) {
    case Proto::kS: return proto.s().empty();
    case Proto::kI: return proto.i() == 0;
    case Proto::kF: return proto.f() == 0;
    case Proto::kB: return !proto.b();
    case Proto::kList: return list_elements(proto.list()) == 0;
    case Proto::VALUE_NOT_SET: return true;
    default: return false;
  }
}

void attr_to_proto(const AttrValue& value, Proto* proto) {
  // Oneof members are written even if they are zero or empty: their presence tells the kind.
  switch (value.kind()) {
    case AttrKind::kInt: proto->set_i(value.as<int64_t>()); return;
    case AttrKind::kFloat: proto->set_f(value.as<float>()); return;
    case AttrKind::kBool: proto->set_b(value.as<bool>()); return;
    case AttrKind::kType: proto->set_type(static_cast<graphdef::DataType>(value.as<DType>())); return;
    case AttrKind::kString: proto->set_s(value.as<std::string>()); return;
    case AttrKind::kShape: shape_to_proto(value.as<PartialShape>(), proto->mutable_shape()); return;
    case AttrKind::kTensor: tensor_to_proto(value.as<Tensor>(), proto->mutable_tensor()); return;
    case AttrKind::kFunc: proto->mutable_func()->set_name(value.as<FunctionRef>().name); return;
    default: break;
  }
  List* list = proto->mutable_list();
  switch (value.kind()) {
    case AttrKind::kIntList:
      for (int64_t i : value.as<std::vector<int64_t>>()) list->add_i(i);
      break;
    case AttrKind::kFloatList:
      for (float f : value.as<std::vector<float>>()) list->add_f(f);
      break;
    case AttrKind::kBoolList:
      for (uint8_t b : value.as<std::vector<uint8_t>>()) list->add_b(b != 0);
      break;
    case AttrKind::kTypeList:
      for (DType t : value.as<std::vector<DType>>()) list->add_type(static_cast<graphdef::DataType>(t));
      break;
    case AttrKind::kStringList:
      for (const std::string& s : value.as<std::vector<std::string>>()) list->add_s(s);
      break;
    case AttrKind::kShapeList:
      for (const PartialShape& s : value.as<std::vector<PartialShape>>()) shape_to_proto(s, list->add_shape());
      break;
    case AttrKind::kFuncList:
      for (const FunctionRef& f : value.as<std::vector<FunctionRef>>()) list->add_func()->set_name(f.name);
      break;
    default: fail(Code::kInternal, "attribute: expected a value, got none");
  }
}

}  // namespace panto
