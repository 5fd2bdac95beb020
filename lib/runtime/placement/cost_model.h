// CostModel: how long nodes take on devices, and transfers between devices. Used by placement by cost.
//
//   Session s(graph, {.placement = "by_cost"});
//   s.costs().load("costs.json");                     // what earlier processes measured
//   s.run(...);                                       // placed by it, and measured
//   s.costs().save("costs.json");
//
// A node's time is the shortest time measured for the op with the same attributes, types and shapes on a device of that
// kind. If there is none, the time is estimated from operations, bytes and the rates of the kind, and scaled by the
// ratio of measured to estimated times on that kind. An unknown dimension counts as 1, and the body of a loop counts
// kRounds times.
// Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/device.h"
#include "panto/lib/graph/graph.h"
#include "panto/lib/runtime/plan/plan_stats.h"

namespace panto {

// The speed of devices of one kind.
struct DeviceRates {
  double seconds_per_call = 1e-6;
  double operations_per_second = 2e10;
  double bytes_per_second = 1e10;  // read and written
};
// The speed of transfers between devices.
struct TransferRates {
  double seconds_per_transfer = 2e-6;
  double bytes_per_second = 5e9;
};

class PANTO_EXPORT CostModel {
 public:
  static constexpr int kRounds = 16;

  CostModel();
  CostModel(const CostModel&) = delete;
  CostModel& operator=(const CostModel&) = delete;
  ~CostModel();

  DeviceRates rates(DeviceKind kind) const;
  void set_rates(DeviceKind kind, const DeviceRates& rates);
  TransferRates transfer_rates() const;
  void set_transfer_rates(const TransferRates& rates);

  // The time of one run of the node on devices of the kind. 0 if no kernel runs: constants, feeds, identities.
  double seconds(const Graph& graph, const Node& node, DeviceKind kind) const;
  // The same, ignoring measurements.
  double estimate(const Graph& graph, const Node& node, DeviceKind kind) const;
  double transfer_seconds(int64_t bytes) const;

  // Records that a run of the node took `seconds`. The shortest of several counts: the others waited for something.
  void note(const Graph& graph, const Node& node, DeviceKind kind, double seconds);
  int num_measured() const;

  // Write and read a JSON file. `load` merges the file's times with the known ones; the shorter time counts. They throw
  // as write_file and read_file do; `load` throws InvalidArgument for a file of another format.
  void save(const std::string& path) const;
  void load(const std::string& path);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// One line: the predicted time, that of the best single device in the same simulation, and the measured one.
PANTO_EXPORT std::string placement_report(const PlanStats& stats);

}  // namespace panto
