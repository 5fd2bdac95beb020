// Saver: writes checkpoints of a training run at intervals, keeps the last few, and loads the newest when the run
// starts again.
//
//   std::vector<Variable> all = model.variables();     // an optimizer's too: adam.slots()
//   Saver saver("run/model.ckpt", all, {.max_to_keep = 3});
//   int64_t step = saver.restore_latest().value_or(0);
//   for (; step < 10000; ++step) {
//     train(...);
//     if (step % 100 == 0) saver.save(step);           // run/model.ckpt-100, ...; or save_async
//   }
//
// The files are TensorFlow's (panto/lib/graph/checkpoints/checkpoint_file.h), with the file `checkpoint` beside them;
// tf.compat.v1.train.Saver restores them, and Saver restores its files. The process or the machine may stop at any
// moment: when `save`, or a PendingSave's `get`, has returned, the checkpoint is on the disk as a whole, and is found
// when the run starts again. Old checkpoints are removed only after that.
//
// For variables of a graph, make the Saver in the GraphScope; the values are a session's, as in TensorFlow 1:
//
//   Saver saver("run/model.ckpt", {w, b});              // while the GraphScope is open
//   saver.save(session, step);
//   saver.restore_latest(session);
//
// A Saver belongs to the process that made it: in a fork, saving throws FailedPrecondition, and destroying the Saver
// does nothing. A new Saver of the same name continues where the one before it ended: it reads the existing checkpoints
// from the file `checkpoint`. Thread-safety: may be used by several threads at once; saves happen one after the other,
// in the order of the calls.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/lib/base/shared_impl.h"
#include "panto/nn/training/checkpoint.h"
#include "panto/nn/variables/partitioned.h"

namespace panto {

class Session;

struct SaverOptions {
  int64_t max_to_keep = 5;  // the oldest checkpoint is removed when there are more. 0: keep all
  // Keeps one checkpoint per this many hours in addition; it does not count for max_to_keep. 0: none.
  double keep_every_n_hours = 0;
  // Partitioned variables. They are saved under their names, each part as a slice of the whole tensor, as in
  // TensorFlow; the parts must be among the variables. They can be restored from tensors with any other partition.
  std::vector<PartitionedVariable> partitioned = {};
  bool object_graph = false;           // as in CheckpointOptions: makes it readable by tf.train.Checkpoint
  Callable<double()> clock = nullptr;  // seconds since 1970; none: the machine's clock
};

// A checkpoint that is being written.
class PANTO_EXPORT PendingSave {
 public:
  // True when it is on the disk, or has failed.
  bool ready() const;
  // Waits for that and returns the prefix, "run/model.ckpt-100"; throws what writing threw.
  std::string get() const;

 private:
  friend class KeptCheckpoints;
  struct State;
  explicit PendingSave(std::shared_ptr<State> state);
  SharedImpl<State> state_;
};

class PANTO_EXPORT Saver {
 public:
  // Checkpoints are named PREFIX-STEP; the folder is created if it does not exist. Throws InvalidArgument for a prefix
  // without a file name, names given twice, variables of a graph mixed with others, `partitioned` with `object_graph`,
  // and options out of range; DataLoss for a malformed file `checkpoint`; FailedPrecondition if variables belong to a
  // graph whose GraphScope is not open. Variables given without names get those of named_variables; variables of a
  // graph keep their names there.
  Saver(const std::string& prefix, std::vector<NamedVariable> variables, SaverOptions options);
  Saver(const std::string& prefix, std::vector<NamedVariable> variables);
  Saver(const std::string& prefix, const std::vector<Variable>& variables, SaverOptions options);
  Saver(const std::string& prefix, const std::vector<Variable>& variables);
  ~Saver();  // waits until all is written
  Saver(const Saver&) = delete;
  Saver& operator=(const Saver&) = delete;

  // Writes the variables' values; returns the prefix of the checkpoint when it is on the disk. Throws InvalidArgument
  // for a negative step, FailedPrecondition inside a trace, and as write_checkpoint.
  std::string save(int64_t step);
  // The same on a thread of its own: it saves the values of now, however the variables change meanwhile. Blocks if
  // another save is already waiting, so that at most two sets of values take memory.
  PendingSave save_async(int64_t step);

  // Assigns a checkpoint's values; throws as load_variables.
  void restore(const std::string& prefix) const;
  // Restores the newest checkpoint of the folder and returns its step; without one it does nothing and returns nullopt.
  std::optional<int64_t> restore_latest() const;

  // The same for variables of a graph: their values in this session. Throw FailedPrecondition, too, if the variables
  // are not a graph's (and those above if they are).
  std::string save(Session& session, int64_t step);
  PendingSave save_async(Session& session, int64_t step);
  void restore(Session& session, const std::string& prefix) const;
  std::optional<int64_t> restore_latest(Session& session) const;

  // The existing checkpoints that count for max_to_keep, oldest first.
  std::vector<std::string> checkpoints() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace panto
