// Mutexes: keep parts of graphs from running at the same time.

#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/batching.h"
#include "panto/ops/queues.h"

namespace panto {

const Op& kMutexV2 = define_op(
    "MutexV2(; container: string = \"\", shared_name: string = \"\") -> (resource: resource)",
    {.doc =
         "A handle to the mutex `shared_name` (or, without one, of the node's name) in `container`, which is made if "
         "there is none.",
     .cpp = "mutex",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::allocates(0)},
     .shape = shapes::scalar,
     .no_gradient = "it has no inputs"});

const Op& kMutexLock = define_op(
    "MutexLock(mutex: resource) -> (mutex_lock: variant)",
    {.doc = "Locks the mutex: waits until nobody else holds its lock. The lock is held until ConsumeMutexLock gives it "
            "back, or nobody has it any more.",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::updates(0)},
     .shape =
         [](ShapeContext& c) {
           c.expect_scalar(0);
           shapes::scalar(c);
         },
     .no_gradient = "a lock has none"});

const Op& kConsumeMutexLock = define_op(
    "ConsumeMutexLock(mutex_lock: variant) -> ()",
    {.doc = "Gives a lock back, that MutexLock took: others may have it then. What it is to protect must run between "
            "the two. FailedPrecondition for one that was given back before.",
     .effects = {effects::external()},
     .shape = [](ShapeContext& c) { c.expect_scalar(0); },
     .no_gradient = "it has no outputs",
     .batch = batching::loop});

}  // namespace panto
