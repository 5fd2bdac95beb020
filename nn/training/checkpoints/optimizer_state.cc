#include "panto/nn/training/checkpoints/optimizer_state.h"

#include <utility>

#include "panto/nn/training/optimizer.h"

namespace panto {
namespace {

template <class Kind>
bool is(const Optimizer& optimizer) {
  return dynamic_cast<const Kind*>(&optimizer) != nullptr;
}

struct Row {
  std::string_view slot;
  SlotNames names;
};

// The slots of an optimizer's kind that TensorFlow or Keras knows, with their names there.
std::vector<Row> rows_of(const Optimizer& o) {
  const SlotNames first{.stored = "m", .keras = "_momentums"}, second{.stored = "v", .keras = "_velocities"};
  if (is<Adam>(o)) {
    return {{"m", {.stored = "m", .keras = "_momentums", .variable = "Adam"}},
            {"v", {.stored = "v", .keras = "_velocities", .variable = "Adam_1"}},
            {"vhat", {.stored = "vhat", .keras = "_velocity_hats"}}};
  }
  if (is<Nadam>(o) || is<Lamb>(o)) return {{"m", first}, {"v", second}};
  if (is<Lion>(o)) return {{"m", first}};
  if (is<Adamax>(o)) return {{"m", {.stored = "m", .keras = "_m"}}, {"v", {.stored = "v", .keras = "_u"}}};
  if (is<Momentum>(o)) return {{"momentum", {.stored = "momentum", .variable = "Momentum"}}};
  if (is<Sgd>(o)) return {{"momentum", {.stored = "velocity", .second = "momentum", .keras = "momentums"}}};
  if (is<RMSprop>(o)) {
    bool centered = false;
    for (const std::string& name : o.slot_names()) centered = centered || name == "mg";
    return {{"ms", {.stored = "rms", .keras = "_velocities", .variable = "RMSProp"}},
            {"mom",
             {.stored = "momentum",
              .keras = "_momentums",
              .variable = centered ? "RMSProp_2" : "RMSProp_1",
              .keras_may_lack = true}},
            {"mg", {.stored = "mg", .keras = "_average_gradients", .variable = "RMSProp_1"}}};
  }
  if (is<Adagrad>(o)) {
    return {{"accumulator", {.stored = "accumulator", .keras = "_accumulators", .variable = "Adagrad"}}};
  }
  if (is<ProximalAdagrad>(o)) {
    return {{"accumulator", {.stored = "accumulator", .variable = "ProximalAdagrad"}}};
  }
  if (is<AdagradDA>(o)) {
    return {{"gradient_accumulator", {.stored = "gradient_accumulator", .variable = "AdagradDA"}},
            {"gradient_squared_accumulator", {.stored = "gradient_squared_accumulator", .variable = "AdagradDA_1"}}};
  }
  if (is<Ftrl>(o)) {
    return {{"accumulator", {.stored = "accum", .second = "accumulator", .keras = "_accumulators", .variable = "Ftrl"}},
            {"linear", {.stored = "linear", .keras = "_linears", .variable = "Ftrl_1"}}};
  }
  if (is<Adadelta>(o)) {
    return {
        {"accum", {.stored = "accum", .second = "accum_grad", .keras = "_accumulated_grads", .variable = "Adadelta"}},
        {"accum_update",
         {.stored = "accum_update",
          .second = "accum_var",
          .keras = "_accumulated_delta_vars",
          .variable = "Adadelta_1"}}};
  }
  return {};
}

}  // namespace

std::vector<SharedValue> OptimizerState::shared(const Optimizer& optimizer) {
  std::vector<SharedValue> values;
  for (const Optimizer::Slot& slot : optimizer.shared_) values.push_back({slot.name, slot.variable, slot.initial});
  if (optimizer.step_.defined()) values.push_back({"step", optimizer.step_});
  if (optimizer.rate_.defined()) values.push_back({"learning_rate", optimizer.rate_});
  return values;
}

std::vector<std::pair<std::string, Variable>> OptimizerState::slots(const Optimizer& optimizer,
                                                                    const Variable& variable) {
  std::vector<std::pair<std::string, Variable>> slots;
  const size_t i = optimizer.index_of(variable);
  if (i >= optimizer.slots_.size()) return slots;
  for (const Optimizer::Slot& slot : optimizer.slots_[i]) slots.emplace_back(slot.name, slot.variable);
  return slots;
}

bool OptimizerState::may_grow(const Optimizer& optimizer) { return optimizer.of_graph_; }

void OptimizerState::when_built(Optimizer& optimizer, Callable<void(Optimizer&)> restore) {
  optimizer.when_built_ = std::move(restore);
}

SlotNames slot_names(const Optimizer& optimizer, std::string_view slot) {
  for (Row& row : rows_of(optimizer)) {
    if (row.slot == slot) return std::move(row.names);
  }
  return {.stored = std::string(slot)};
}

}  // namespace panto
