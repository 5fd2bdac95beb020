// What an object-based checkpoint says of its objects: which values they have, by which ways they are reached, and what
// optimizers keep for which variable. Internal.
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
// Behind the way to a variable.
inline constexpr std::string_view kVariableValue = "/.ATTRIBUTES/VARIABLE_VALUE";

// The name of a variable's value among those of its object.
inline constexpr std::string_view kVariableAttribute = "VARIABLE_VALUE";

// An object of a TrackableObjectGraph. Objects refer to one another by their positions; the first is the root.
struct StoredObject {
  struct Value {
    std::string name;       // "VARIABLE_VALUE"
    std::string full_name;  // of the variable
    std::string key;        // in the checkpoint
  };
  // What an optimizer keeps for a variable.
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

// Those of the graph in these bytes. At least one; every position is one of theirs. Throws DataLoss.
std::vector<StoredObject> read_object_graph(std::string_view bytes);
// The bytes of the graph of these.
std::string write_object_graph(std::span<const StoredObject> objects);
// A name as it stands between the slashes of a key: without slashes, and no "." of TensorFlow's own.
std::string escaped_object_name(std::string_view name);

// (name of the variable, key of its value) of every variable of the graph in these bytes. Throws DataLoss.
std::vector<std::pair<std::string, std::string>> object_variables(std::string_view bytes);

// A graph of objects that has these ways from its root to variables, "model/dense/kernel", as bytes. Throws
// InvalidArgument for a way with an empty name, and for one on which another variable lies.
std::string object_graph_of(std::span<const std::string_view> ways);

}  // namespace panto
