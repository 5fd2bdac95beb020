// Checkpoints of a training run: written now and then, the last few kept, the newest loaded when the run begins again.
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
// tf.compat.v1.train.Saver restores them, and the other way round. A process, or the machine, may stop at any moment:
// what `save`, or a PendingSave's `get`, returned for is on the disk as a whole, and found when the run begins again.
// Old checkpoints are removed only after that.
//
// Of variables of a graph, in whose GraphScope the Saver is made, the values are a session's, as in TensorFlow 1:
//
//   Saver saver("run/model.ckpt", {w, b});              // while the GraphScope is open
//   saver.save(session, step);
//   saver.restore_latest(session);
//
// A Saver writes in the process that made it: in a fork of it saving throws FailedPrecondition, and destroying the
// Saver does nothing. A Saver of the same name goes on where one before it ended: it knows from the file `checkpoint`
// which there are. Thread-safety: may be used by several threads at once; saves happen one after the other, in the
// order of the calls.
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
  int64_t max_to_keep = 5;  // checkpoints; the oldest is removed when there is one more. 0: all are kept
  // One in so many hours is not removed, and not counted among those. 0: none.
  double keep_every_n_hours = 0;
  // Variables in parts, saved under their names as the tensors that the parts make up, slices of each in the file, as
  // TensorFlow does; with the parts that are among the variables. Restored from tensors that lie there in any parts.
  std::vector<PartitionedVariable> partitioned = {};
  bool object_graph = false;           // as of CheckpointOptions: what tf.train.Checkpoint restores
  Callable<double()> clock = nullptr;  // seconds since 1970; none: the machine's
};

// A checkpoint that is being written.
class PANTO_EXPORT PendingSave {
 public:
  // True when it is on the disk, or has failed.
  bool ready() const;
  // Waits for that. Its prefix, "run/model.ckpt-100"; throws what writing it threw.
  std::string get() const;

 private:
  friend class KeptCheckpoints;
  struct State;
  explicit PendingSave(std::shared_ptr<State> state);
  SharedImpl<State> state_;
};

class PANTO_EXPORT Saver {
 public:
  // Checkpoints are called PREFIX-STEP; the folder is made where it is not there. Throws InvalidArgument for a prefix
  // without a name, names given twice, variables of a graph beside others, `partitioned` with `object_graph`, and
  // options out of range; DataLoss for a file `checkpoint` that cannot be understood; FailedPrecondition where
  // variables are of a graph and its GraphScope is not open. Without names variables have those of named_variables;
  // ones of a graph are called as there.
  Saver(const std::string& prefix, std::vector<NamedVariable> variables, SaverOptions options);
  Saver(const std::string& prefix, std::vector<NamedVariable> variables);
  Saver(const std::string& prefix, const std::vector<Variable>& variables, SaverOptions options);
  Saver(const std::string& prefix, const std::vector<Variable>& variables);
  ~Saver();  // waits until all is written
  Saver(const Saver&) = delete;
  Saver& operator=(const Saver&) = delete;

  // Writes the variables' values. The prefix of the checkpoint, which is on the disk. Throws InvalidArgument for a
  // negative step, FailedPrecondition inside a trace, and as write_checkpoint.
  std::string save(int64_t step);
  // The same by a thread of its own: the values are those of now, however the variables change while it writes. Waits
  // where another one waits already, so that no more than two sets of values take memory.
  PendingSave save_async(int64_t step);

  // Assigns what a checkpoint has, as load_variables does and throws.
  void restore(const std::string& prefix) const;
  // The newest of the folder. Its step; nullopt, and nothing happens, where there is none.
  std::optional<int64_t> restore_latest() const;

  // The same of variables of a graph: their values in this session. Throw FailedPrecondition too where the variables
  // are of no graph (and those above where they are).
  std::string save(Session& session, int64_t step);
  PendingSave save_async(Session& session, int64_t step);
  void restore(Session& session, const std::string& prefix) const;
  std::optional<int64_t> restore_latest(Session& session) const;

  // Those that are there and will be removed when they are the oldest, oldest first.
  std::vector<std::string> checkpoints() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace panto
