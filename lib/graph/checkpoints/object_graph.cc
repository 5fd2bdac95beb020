#include "panto/lib/graph/checkpoints/object_graph.h"

#include <algorithm>
#include <functional>
#include <map>

#include "panto/lib/base/text/format.h"
#include "panto/lib/graph/checkpoints/stored.h"
#include "panto/lib/graph/proto/trackable_object_graph.pb.h"

namespace panto {

const size_t* StoredObject::child(std::string_view name) const {
  for (const auto& [own, position] : children) {
    if (own == name) return &position;
  }
  return nullptr;
}

std::vector<StoredObject> read_object_graph(std::string_view bytes) {
  graphdef::TrackableObjectGraph graph;
  parse_message(bytes, "a graph of objects", graph);
  const int count = graph.nodes_size();
  if (count == 0) fail(Code::kDataLoss, "a graph of objects: expected a root, got no objects");
  const auto position = [count](int id) {
    if (id < 0 || id >= count) {
      failf(Code::kDataLoss, "a graph of objects: expected the number of one of {} objects, got {}", count, id);
    }
    return static_cast<size_t>(id);
  };
  std::vector<StoredObject> objects(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    StoredObject& object = objects[static_cast<size_t>(i)];
    for (const auto& child : graph.nodes(i).children()) {
      object.children.emplace_back(child.local_name(), position(child.node_id()));
    }
    for (const auto& value : graph.nodes(i).attributes()) {
      object.values.push_back({value.name(), value.full_name(), value.checkpoint_key()});
    }
    for (const auto& slot : graph.nodes(i).slot_variables()) {
      object.slots.push_back(
          {position(slot.original_variable_node_id()), slot.slot_name(), position(slot.slot_variable_node_id())});
    }
  }
  return objects;
}

std::string write_object_graph(std::span<const StoredObject> objects) {
  graphdef::TrackableObjectGraph graph;
  for (const StoredObject& object : objects) {
    auto* node = graph.add_nodes();
    for (const auto& [name, position] : object.children) {
      auto* child = node->add_children();
      child->set_node_id(static_cast<int>(position));
      child->set_local_name(name);
    }
    for (const StoredObject::Value& value : object.values) {
      auto* attribute = node->add_attributes();
      attribute->set_name(value.name);
      attribute->set_full_name(value.full_name);
      attribute->set_checkpoint_key(value.key);
    }
    for (const StoredObject::Slot& slot : object.slots) {
      auto* reference = node->add_slot_variables();
      reference->set_original_variable_node_id(static_cast<int>(slot.variable));
      reference->set_slot_name(slot.name);
      reference->set_slot_variable_node_id(static_cast<int>(slot.slot));
    }
    node->mutable_has_checkpoint_values()->set_value(!object.values.empty());
  }
  std::string bytes;
  graph.SerializeToString(&bytes);
  return bytes;
}

std::string escaped_object_name(std::string_view name) {
  std::string escaped;
  for (const char c : name) {
    if (c == '.') {
      escaped += "..";
    } else if (c == '/') {
      escaped += ".S";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::vector<std::pair<std::string, std::string>> object_variables(std::string_view bytes) {
  graphdef::TrackableObjectGraph graph;
  parse_message(bytes, "a graph of objects", graph);
  std::vector<std::pair<std::string, std::string>> variables;
  for (const auto& node : graph.nodes()) {
    for (const auto& attribute : node.attributes()) {
      if (attribute.name() == kVariableAttribute && !attribute.full_name().empty()) {
        variables.emplace_back(attribute.full_name(), attribute.checkpoint_key());
      }
    }
  }
  return variables;
}

std::string object_graph_of(std::span<const std::string_view> ways) {
  std::vector<StoredObject> objects(1);
  std::map<std::string, size_t, std::less<>> numbers{{"", 0}};  // by path
  for (const std::string_view way : ways) {
    size_t at = 0;
    for (size_t begin = 0; begin <= way.size();) {
      const size_t end = std::min(way.find('/', begin), way.size());
      const std::string_view name = way.substr(begin, end - begin);
      if (name.empty()) invalid("checkpoint: expected names between slashes, got '{}'", way);
      const auto [found, is_new] = numbers.emplace(way.substr(0, end), objects.size());
      if (is_new) {
        objects[at].children.emplace_back(name, found->second);
        objects.emplace_back();
      }
      at = found->second;
      if (end < way.size() && !objects[at].values.empty()) {
        invalid("checkpoint: expected names below objects, got '{}' below the variable '{}'", way, way.substr(0, end));
      }
      begin = end + 1;
    }
    if (!objects[at].children.empty()) {
      invalid("checkpoint: expected names below objects, got the variable '{}' with others below it", way);
    }
    objects[at].values.push_back(
        {std::string(kVariableAttribute), std::string(way), std::string(way) + std::string(kVariableValue)});
  }
  return write_object_graph(objects);
}

}  // namespace panto
