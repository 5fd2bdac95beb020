// CostModel: how long nodes take on devices, and values from one device to another. What placement by cost asks.
//
//   Session s(graph, {.placement = "by_cost"});
//   s.costs().load("costs.json");                     // what earlier processes measured
//   s.run(...);                                       // placed by it, and measured
//   s.costs().save("costs.json");
//
// A node's time is the shortest that was measured of the op with these attributes, types and shapes on a device of that
// kind. What was not measured is estimated from operations, bytes and the rates of the kind, and scaled by how what was
// measured there compares with its estimates. A dimension that is not known counts as 1, and a loop's body as often as
// `kRounds` says.
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

// Of devices of one kind.
struct DeviceRates {
  double seconds_per_call = 1e-6;
  double operations_per_second = 2e10;
  double bytes_per_second = 1e10;  // read and written
};
// Of what goes from a device to another one.
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

  // Of one run of the node on devices of the kind. 0 where no kernel runs: constants, feeds, identities.
  double seconds(const Graph& graph, const Node& node, DeviceKind kind) const;
  // The same without what was measured.
  double estimate(const Graph& graph, const Node& node, DeviceKind kind) const;
  double transfer_seconds(int64_t bytes) const;

  // A run of the node took so long. Of several the shortest counts: the others waited for something.
  void note(const Graph& graph, const Node& node, DeviceKind kind, double seconds);
  int num_measured() const;

  // A JSON file. `load` adds what is there to what is known; the shorter time counts. Throw as write_file and
  // read_file; InvalidArgument for a file of another kind.
  void save(const std::string& path) const;
  void load(const std::string& path);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// One line: the predicted time, that of the best single device in the same simulation, and the measured one.
PANTO_EXPORT std::string placement_report(const PlanStats& stats);

}  // namespace panto
