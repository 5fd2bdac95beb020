// The object graph of an object-based checkpoint: the values of its objects, the paths to the objects, and the slot
// variables that optimizers keep for variables. Internal.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace panto {

// The key of a TrackableObjectGraph, a string.
inline constexpr std::string_view kObjectGraphKey = "_CHECKPOINTABLE_OBJECT_GRAPH";
// Suffix of a variable's path.
inline constexpr std::string_view kVariableValue = "/.ATTRIBUTES/VARIABLE_VALUE";

// The name of a variable's value among those of its object.
inline constexpr std::string_view kVariableAttribute = "VARIABLE_VALUE";

// An object of a TrackableObjectGraph. Objects refer to each other by position; the first is the root.
struct StoredObject {
  struct Value {
    std::string name;       // "VARIABLE_VALUE"
    std::string full_name;  // of the variable
    std::string key;        // in the checkpoint
  };
  // A variable that an optimizer keeps for another variable.
  struct Slot {
    size_t variable;
    std::string name;
    size_t slot;
  };
  // Null if there is none.
  const size_t* child(std::string_view name) const;

  std::vector<std::pair<std::string, size_t>> children = {};  // by names that are unique
  std::vector<Value> values = {};
  std::vector<Slot> slots = {};
};

// Parses the objects of a graph. There is at least one, and every position is valid. Throws DataLoss.
std::vector<StoredObject> read_object_graph(std::string_view bytes);
// Serializes the graph of these objects.
std::string write_object_graph(std::span<const StoredObject> objects);
// A name as a part of a key's path: '.' becomes "..", '/' becomes ".S".
std::string escaped_object_name(std::string_view name);

// (name of the variable, key of its value) for every variable of the serialized graph. Throws DataLoss.
std::vector<std::pair<std::string, std::string>> object_variables(std::string_view bytes);

// Serializes a graph of objects with these paths from its root to variables, "model/dense/kernel". Throws
// InvalidArgument for a path with an empty name, and for a path that leads through another variable.
std::string object_graph_of(std::span<const std::string_view> ways);

}  // namespace panto
