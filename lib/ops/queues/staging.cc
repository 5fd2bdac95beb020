// Staging areas: buffers between two parts of a program, in order or by keys. They have no handles; the ops that put in
// and take out find the same area by `container` and `shared_name`.

#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/batching.h"
#include "panto/ops/queues.h"

namespace panto {
namespace {

void expect_limits(ShapeContext& c) {
  for (const auto& [name, value] :
       {std::pair("capacity", c.integer("capacity")), std::pair("memory_limit", c.integer("memory_limit"))}) {
    if (value < 0) invalid("{}: expected at least 0, got {}", name, value);
  }
}

void put_shape(ShapeContext& c) { expect_limits(c); }

void size_shape(ShapeContext& c) {
  expect_limits(c);
  shapes::scalar(c);
}

// Outputs have unknown shapes.
void take_shape(ShapeContext& c) { expect_limits(c); }

void peek_shape(ShapeContext& c) {
  expect_limits(c);
  c.expect_scalar(0);
}

// Checks that there are as many values as indices; the area checks the rest.
void put_by_key_shape(ShapeContext& c) {
  expect_limits(c);
  c.expect_scalar(0);
  c.expect_equal(c.vector(1), c.num_inputs() - 2, "number of indices and values");
}

void take_by_key_shape(ShapeContext& c) {
  expect_limits(c);
  c.expect_scalar(0);
  c.expect_equal(c.vector(1), c.num_outputs(), "number of indices and outputs");
}

void take_any_shape(ShapeContext& c) {
  expect_limits(c);
  c.expect_equal(c.vector(0), c.num_outputs() - 1, "number of indices and outputs");
  c.output(0, Shape{});
}

}  // namespace

const Op& kStage = define_op(
    "Stage(values: dtypes; capacity: int >= 0 = 0, memory_limit: int >= 0 = 0, container: string = \"\", "
    "shared_name: string = \"\", dtypes: list(type) >= 1) -> ()",
    {.doc = "Puts an element, a value of each of `dtypes`, into the staging area `shared_name` (or, without "
            "one, of the node's name) in `container`, which is made if there is none. Waits until there is "
            "room, if `capacity` elements or `memory_limit` bytes are its limit, which 0 is not. "
            "ResourceExhausted for an element above that.",
     .effects = {effects::external()},
     .shape = put_shape,
     .no_gradient = "it has no outputs",
     .batch = batching::loop});

const Op& kUnstage = define_op(
    "Unstage(; capacity: int >= 0 = 0, memory_limit: int >= 0 = 0, container: string = \"\", shared_name: "
    "string = \"\", dtypes: list(type) >= 1) -> (values: dtypes)",
    {.doc = "Takes the first element out of the staging area that Stage put it into: waits until there is one.",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::external()},
     .shape = take_shape,
     .no_gradient = "what it takes out went in elsewhere"});

const Op& kStagePeek = define_op(
    "StagePeek(index: int32; capacity: int >= 0 = 0, memory_limit: int >= 0 = 0, container: string = \"\", "
    "shared_name: string = \"\", dtypes: list(type) >= 1) -> (values: dtypes)",
    {.doc = "Element `index` of the staging area, which stays in it: waits until there are so many.",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::external()},
     .shape = peek_shape,
     .no_gradient = "what it takes out went in elsewhere",
     .batch = batching::loop});

const Op& kStageSize = define_op(
    "StageSize(; capacity: int >= 0 = 0, memory_limit: int >= 0 = 0, container: string = \"\", shared_name: "
    "string = \"\", dtypes: list(type)) -> (size: int32)",
    {.doc = "How many elements the staging area has.",
     .effects = {effects::external()},
     .shape = size_shape,
     .no_gradient = "integers have none"});

const Op& kStageClear = define_op(
    "StageClear(; capacity: int >= 0 = 0, memory_limit: int >= 0 = 0, container: string = \"\", shared_name: "
    "string = \"\", dtypes: list(type)) -> ()",
    {.doc = "Drops all elements of the staging area.",
     .effects = {effects::external()},
     .shape = put_shape,
     .no_gradient = "it has no outputs"});

const Op& kMapStage = define_op(
    "MapStage(key: int64, indices: int32, values: fake_dtypes; capacity: int >= 0 = 0, memory_limit: int >= 0 "
    "= 0, dtypes: list(type), fake_dtypes: list(type) >= 1, container: string = \"\", shared_name: string = "
    "\"\") -> ()",
    {.doc = "Puts values number `indices` of element `key` into a staging area as Stage does. `indices` "
            "increase. An element has a value of each of `dtypes`, and can be taken out when all are there.",
     .effects = {effects::external()},
     .shape = put_by_key_shape,
     .no_gradient = "it has no outputs",
     .batch = batching::loop});

const Op& kMapPeek = define_op(
    "MapPeek(key: int64, indices: int32; capacity: int >= 0 = 0, memory_limit: int >= 0 = 0, dtypes: "
    "list(type) >= 1, container: string = \"\", shared_name: string = \"\") -> (values: dtypes)",
    {.doc = "Values number `indices` of element `key` of the staging area, which stay in it: waits until it is "
            "there.",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::external()},
     .shape = take_by_key_shape,
     .no_gradient = "what it takes out went in elsewhere",
     .batch = batching::loop});

const Op& kMapUnstage = define_op(
    "MapUnstage(key: int64, indices: int32; capacity: int >= 0 = 0, memory_limit: int >= 0 = 0, dtypes: "
    "list(type) >= 1, container: string = \"\", shared_name: string = \"\") -> (values: dtypes)",
    {.doc = "Takes values number `indices` of element `key` out of the staging area: waits until it is there. "
            "The element is gone when all its values are.",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::external()},
     .shape = take_by_key_shape,
     .no_gradient = "what it takes out went in elsewhere",
     .batch = batching::loop});

const Op& kMapUnstageNoKey = define_op(
    "MapUnstageNoKey(indices: int32; capacity: int >= 0 = 0, memory_limit: int >= 0 = 0, dtypes: list(type) "
    ">= 1, container: string = \"\", shared_name: string = \"\") -> (key: int64, values: dtypes)",
    {.doc = "MapUnstage of any element: waits until there is one.",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::external()},
     .shape = take_any_shape,
     .no_gradient = "what it takes out went in elsewhere",
     .batch = batching::loop});

const Op& kMapSize = define_op(
    "MapSize(; capacity: int >= 0 = 0, memory_limit: int >= 0 = 0, dtypes: list(type), container: string = "
    "\"\", shared_name: string = \"\") -> (size: int32)",
    {.doc = "How many elements of the staging area can be taken out.",
     .effects = {effects::external()},
     .shape = size_shape,
     .no_gradient = "integers have none"});

const Op& kMapIncompleteSize = define_op(
    "MapIncompleteSize(; capacity: int >= 0 = 0, memory_limit: int >= 0 = 0, dtypes: list(type), container: "
    "string = \"\", shared_name: string = \"\") -> (size: int32)",
    {.doc = "How many elements of the staging area lack values.",
     .effects = {effects::external()},
     .shape = size_shape,
     .no_gradient = "integers have none"});

const Op& kMapClear = define_op(
    "MapClear(; capacity: int >= 0 = 0, memory_limit: int >= 0 = 0, dtypes: list(type), container: string = "
    "\"\", shared_name: string = \"\") -> ()",
    {.doc = "Drops all elements of the staging area.",
     .effects = {effects::external()},
     .shape = put_shape,
     .no_gradient = "it has no outputs"});

const Op& kOrderedMapStage = define_op(
    "OrderedMapStage(key: int64, indices: int32, values: fake_dtypes; capacity: int >= 0 = 0, memory_limit: "
    "int >= 0 = 0, dtypes: list(type), fake_dtypes: list(type) >= 1, container: string = \"\", shared_name: "
    "string = \"\") -> ()",
    {.doc = "MapStage into an area whose elements can be taken out in the order of their keys.",
     .effects = {effects::external()},
     .shape = put_by_key_shape,
     .no_gradient = "it has no outputs",
     .batch = batching::loop});

const Op& kOrderedMapPeek = define_op(
    "OrderedMapPeek(key: int64, indices: int32; capacity: int >= 0 = 0, memory_limit: int >= 0 = 0, dtypes: "
    "list(type) >= 1, container: string = \"\", shared_name: string = \"\") -> (values: dtypes)",
    {.doc = "Values number `indices` of element `key` of the staging area, which stay in it: waits until it is "
            "there.",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::external()},
     .shape = take_by_key_shape,
     .no_gradient = "what it takes out went in elsewhere",
     .batch = batching::loop});

const Op& kOrderedMapUnstage = define_op(
    "OrderedMapUnstage(key: int64, indices: int32; capacity: int >= 0 = 0, memory_limit: int >= 0 = 0, "
    "dtypes: list(type) >= 1, container: string = \"\", shared_name: string = \"\") -> (values: dtypes)",
    {.doc = "Takes values number `indices` of element `key` out of the staging area: waits until it is there. "
            "The element is gone when all its values are.",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::external()},
     .shape = take_by_key_shape,
     .no_gradient = "what it takes out went in elsewhere",
     .batch = batching::loop});

const Op& kOrderedMapUnstageNoKey = define_op(
    "OrderedMapUnstageNoKey(indices: int32; capacity: int >= 0 = 0, memory_limit: int >= 0 = 0, dtypes: "
    "list(type) >= 1, container: string = \"\", shared_name: string = \"\") -> (key: int64, values: dtypes)",
    {.doc = "OrderedMapUnstage of the one with the least key element: waits until there is one.",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::external()},
     .shape = take_any_shape,
     .no_gradient = "what it takes out went in elsewhere",
     .batch = batching::loop});

const Op& kOrderedMapSize = define_op(
    "OrderedMapSize(; capacity: int >= 0 = 0, memory_limit: int >= 0 = 0, dtypes: list(type), container: "
    "string = \"\", shared_name: string = \"\") -> (size: int32)",
    {.doc = "How many elements of the staging area can be taken out.",
     .effects = {effects::external()},
     .shape = size_shape,
     .no_gradient = "integers have none"});

const Op& kOrderedMapIncompleteSize = define_op(
    "OrderedMapIncompleteSize(; capacity: int >= 0 = 0, memory_limit: int >= 0 = 0, dtypes: list(type), "
    "container: string = \"\", shared_name: string = \"\") -> (size: int32)",
    {.doc = "How many elements of the staging area lack values.",
     .effects = {effects::external()},
     .shape = size_shape,
     .no_gradient = "integers have none"});

const Op& kOrderedMapClear = define_op(
    "OrderedMapClear(; capacity: int >= 0 = 0, memory_limit: int >= 0 = 0, dtypes: list(type), container: "
    "string = \"\", shared_name: string = \"\") -> ()",
    {.doc = "Drops all elements of the staging area.",
     .effects = {effects::external()},
     .shape = put_shape,
     .no_gradient = "it has no outputs"});

}  // namespace panto
