// What several threads may use at once: functions, sessions, variables, tapes, caches, devices. Eight threads do the
// same together, begun at one moment. `./dev test tsan` runs this program under ThreadSanitizer, which sees races whose
// results happen to be right.
#include <atomic>
#include <barrier>
#include <boost/test/unit_test.hpp>
#include <exception>
#include <functional>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/runtime/optimizer.h"
#include "panto/panto.h"

namespace panto {
namespace {

constexpr int kThreads = 8;
constexpr int kTurns = 20;

// Runs body(thread) in all threads at once, and throws here what the first to fail threw.
void in_threads(const std::function<void(int)>& body) {
  std::barrier together(kThreads);
  std::mutex mutex;
  std::exception_ptr error;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      together.arrive_and_wait();
      try {
        body(t);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (error) std::rethrow_exception(error);
}

// Boost.Test's macros are not for several threads: what differs is counted, and checked when all have ended.
class Differences {
 public:
  ~Differences() { BOOST_TEST(count_ == 0); }
  void check(bool same) { count_ += same ? 0 : 1; }

 private:
  std::atomic<int> count_ = 0;
};

using Floats = std::vector<float>;

BOOST_AUTO_TEST_SUITE(threads_suite)

// First in the file: ops and kernels are linked, and devices found, by whoever comes first.
BOOST_AUTO_TEST_CASE(the_first_calls_of_a_process) {
  Differences differences;
  in_threads([&](int t) {
    const auto x = static_cast<float>(t);
    differences.check((tensor({x, 2.f}) * 3.f).to_vector<float>() == Floats{3 * x, 6});
    differences.check(!devices().empty() && find_op("MatMul") != nullptr && all_ops().size() > 100);
    differences.check(find_device("/cpu:0").memory_stats().bytes_in_use >= 0);
  });
}

BOOST_AUTO_TEST_CASE(ops_and_tapes_of_each_thread) {
  const Tensor shared = random_normal({32, 32}, {.seed = 1});
  const Variable k(random_normal({32, 32}, {.seed = 2}), "k");
  const auto work = [&] {
    GradientTape outer, tape;
    outer.watch(shared);
    tape.watch(shared);
    const Tensor y = mean(square(tanh(matmul(shared, k)) + shared));
    const Tensor dx = tape.gradient(y, shared);
    return outer.gradient(sum(dx * dx), {shared, k});
  };
  const std::vector<Tensor> expected = work();
  Differences differences;
  in_threads([&](int) {
    for (int i = 0; i < kTurns; ++i) {
      const std::vector<Tensor> got = work();
      differences.check(got[0].to_vector<float>() == expected[0].to_vector<float>());
      differences.check(got[1].to_vector<float>() == expected[1].to_vector<float>());
    }
  });
}

BOOST_AUTO_TEST_CASE(one_function_with_ever_new_shapes_and_passes) {
  const Variable k(random_normal({16, 16}, {.seed = 2}), "k");
  const auto fn = [&](const Tensor& a) { return relu(matmul(a, k) + 1.f) * 2.f; };
  const Function f = trace(fn, {TensorSpec(kFloat32, {-1, 16})});
  std::vector<Tensor> inputs, expected;
  for (int n = 1; n <= 24; ++n) {
    inputs.push_back(random_normal({n, 16}, {.seed = n}));
    expected.push_back(fn(inputs.back()));
  }
  Differences differences;
  in_threads([&](int t) {
    for (int i = 0; i < kTurns; ++i) {
      if (t == 0) f.set_optimizer(i % 2 == 0 ? "off" : "");
      const auto at = static_cast<size_t>(i * 5 + t * 3) % inputs.size();
      differences.check(f(inputs[at]).to_vector<float>() == expected[at].to_vector<float>());
    }
  });
}

BOOST_AUTO_TEST_CASE(a_function_that_is_traced_at_its_first_calls) {
  const Function f = trace([](const Tensor& a) { return a * a + 1.f; });
  Differences differences;
  in_threads([&](int t) {
    for (int i = 1; i <= kTurns; ++i) {
      const Tensor x = fill({(i + t) % 5 + 1}, static_cast<float>(t));
      differences.check(f(x).to_vector<float>() == (x * x + 1.f).to_vector<float>());
    }
  });
  BOOST_TEST(f.num_traces() == 5);
}

BOOST_AUTO_TEST_CASE(gradients_of_one_function) {
  const Variable k(random_normal({8, 8}, {.seed = 2}), "k");
  const Function f = trace([&](const Tensor& a) { return sum(tanh(matmul(a, k))); }, {TensorSpec(kFloat32, {-1, 8})});
  const auto work = [&](int64_t rows, bool persistent) {
    GradientTape tape({.persistent = persistent});
    return tape.gradient(f(fill({rows, 8}, 0.1f)), k).to_vector<float>();
  };
  std::vector<Floats> expected;
  for (int n = 1; n <= 5; ++n) expected.push_back(work(n, false));
  Differences differences;
  in_threads([&](int t) {
    for (int i = 0; i < kTurns; ++i) {
      const int n = (i + t) % 5 + 1;
      differences.check(work(n, i % 2 == 0) == expected[static_cast<size_t>(n) - 1]);
    }
  });
}

BOOST_AUTO_TEST_CASE(a_variable_is_read_whole_and_loses_no_update) {
  const Variable v(zeros({1000}), "v");
  Differences differences;
  in_threads([&](int t) {
    for (int i = 0; i < kTurns; ++i) {
      if (t % 2 == 0) v.assign_add(ones({1000}));
      const Floats seen = v.value().to_vector<float>();
      differences.check(std::set<float>(seen.begin(), seen.end()).size() == 1);
    }
  });
  BOOST_TEST(v.value()[0].item<float>() == kThreads / 2 * kTurns);
}

BOOST_AUTO_TEST_CASE(a_session_with_state) {
  Graph graph;
  {
    GraphScope building(graph);
    const Tensor x = placeholder(kFloat32, {-1}, "x");
    const Variable total(tensor(0.f), "total");
    const Tensor y = named("y", sum(x * x));
    named("drawn", random_uniform({2}));
    total.assign_add(y);
    named("read", identity(total.value()));
  }
  Session session(graph);
  Fetches initializers, wanted = {"y", "drawn"};
  for (int id : graph.ids()) {
    const Node& node = graph.at(id);
    if (node.op().name() == "AssignVariableOp") initializers.emplace_back(node.name());
    if (node.op().name() == "AssignAddVariableOp") wanted.emplace_back(node.name());
  }
  session.run(initializers);
  Differences differences;
  in_threads([&](int t) {
    for (int i = 0; i < kTurns; ++i) {
      const int64_t n = (i + t) % 20 + 1;
      const auto got = session.run(wanted, {{"x", ones({n})}});
      differences.check(got[0].item<float>() == static_cast<float>(n) && got[1].dim(0) == 2);
    }
  });
  float expected = 0;
  for (int t = 0; t < kThreads; ++t) {
    for (int i = 0; i < kTurns; ++i) expected += static_cast<float>((i + t) % 20 + 1);
  }
  BOOST_TEST(session.run("read", {{"x", ones({1})}}).item<float>() == expected);
}

// Eight threads, a thousand runs each, through all the ways of running.
BOOST_AUTO_TEST_CASE(a_thousand_runs_of_each_thread_on_one_session) {
  Graph graph;
  {
    GraphScope building(graph);
    const Tensor x = placeholder(kFloat32, {-1}, "x"), b = placeholder(kFloat32, {}, "b");
    const Tensor y = named("y", sum(x * x));
    named("z", y + b);
    const Variable runs(tensor(int64_t{0}), "runs");
    global_variables_initializer();
    runs.assign_add(tensor(int64_t{1}));
    named("read", identity(runs.value()));
  }
  Session session(graph);
  session.run("init");
  std::string count;
  for (const int id : graph.ids()) {
    if (graph.at(id).op().name() == "AssignAddVariableOp") count = graph.at(id).name();
  }
  const SessionCallable callable = session.make_callable({"y", "^" + count}, {"x"});
  constexpr int kRuns = 1000;
  Differences differences;
  in_threads([&](int t) {
    RunMetadata metadata;
    for (int i = 0; i < kRuns; ++i) {
      const int64_t n = (i / 50 + t) % 20 + 1;
      const auto expected = static_cast<float>(n);
      const Tensor x = ones({n});
      switch (i % 4) {
        case 0: differences.check(session.run({"y", "^" + count}, {{"x", x}})[0].item<float>() == expected); break;
        case 1: differences.check(callable(x)[0].item<float>() == expected); break;
        case 2: {
          const RunOptions options{.timeout = 600, .trace = RunOptions::Trace::kFull};
          const auto got = session.run({"y", "^" + count}, {{"x", x}}, options, &metadata);
          differences.check(got[0].item<float>() == expected && !metadata.nodes.empty());
          break;
        }
        default: {
          const std::string handle = session.partial_run_setup({"y", "z", "^" + count}, {"x", "b"});
          const Tensor y = session.partial_run(handle, {"y"}, {{"x", x}})[0];
          const Tensor z = session.partial_run(handle, {"z"}, {{"b", y}})[0];
          differences.check(y.item<float>() == expected && z.item<float>() == 2 * expected);
          break;
        }
      }
    }
  });
  BOOST_TEST(session.run("read").item<int64_t>() == int64_t{kThreads} * kRuns);
}

BOOST_AUTO_TEST_CASE(a_session_is_closed_while_others_run) {
  Graph graph;
  {
    GraphScope building(graph);
    named("y", placeholder(kFloat32, {}, "x") * 2.f);
  }
  Session session(graph);
  std::atomic<int> refused = 0;
  in_threads([&](int t) {
    for (int i = 0;; ++i) {
      if (t == 0 && i == 200) session.close();
      try {
        session.run("y", {{"x", 1.f}});
      } catch (const Error& error) {
        if (error.code() != Code::kFailedPrecondition && error.code() != Code::kCancelled) throw;
        ++refused;
        break;
      }
    }
  });
  BOOST_TEST(refused == kThreads);
}

BOOST_AUTO_TEST_CASE(random_numbers_are_drawn_once) {
  set_seed(7);
  std::mutex mutex;
  std::set<float> drawn;
  in_threads([&](int) {
    for (int i = 0; i < kTurns; ++i) {
      const Floats numbers = random_normal({4}).to_vector<float>();
      const std::lock_guard lock(mutex);
      drawn.insert(numbers.begin(), numbers.end());
    }
  });
  BOOST_TEST(drawn.size() == size_t{kThreads} * kTurns * 4);
}

BOOST_AUTO_TEST_CASE(tensors_made_here_and_freed_there) {
  // Small ones come from lists of the thread's, large ones from the device's cache, which is emptied meanwhile.
  std::mutex mutex;
  std::vector<Tensor> handed_on;
  Differences differences;
  in_threads([&](int t) {
    for (int i = 0; i < kTurns; ++i) {
      const int64_t n = i % 3 == 0 ? 8 : 50000 * (t % 3 + 1);
      Tensor mine = fill({n}, static_cast<float>(t)), other;
      {
        const std::lock_guard lock(mutex);
        if (!handed_on.empty()) {
          other = std::move(handed_on.back());
          handed_on.pop_back();
        }
        handed_on.push_back(mine);
      }
      if (other.defined()) differences.check(other[0].item<float>() == other[other.dim(0) - 1].item<float>());
      if (t == 0) cpu_device().trim();
      if (t == 1) cpu_device().set_cache_limit(i % 2 == 0 ? int64_t{1} << 20 : int64_t{1} << 30);
      differences.check(cpu_device().memory_stats().bytes_in_use >= 0);
    }
  });
  cpu_device().set_cache_limit(int64_t{1} << 30);
}

BOOST_AUTO_TEST_CASE(caches_of_products_and_convolutions) {
  std::vector<Tensor> images, expected;
  const Tensor filter = random_normal({3, 3, 4, 8}, {.seed = 1});
  const auto work = [&](const Tensor& x) { return conv2d(x, filter, {1, 1, 1, 1}, "SAME"); };
  for (int n = 1; n <= 6; ++n) {
    images.push_back(random_normal({1, 4 + n, 8, 4}, {.seed = n}));
    expected.push_back(work(images.back()));
  }
  Differences differences;
  in_threads([&](int t) {
    for (int i = 0; i < kTurns; ++i) {
      const auto at = static_cast<size_t>(i + t) % images.size();
      differences.check(work(images[at]).to_vector<float>() == expected[at].to_vector<float>());
      const Tensor a = fill({16 + i, 40}, 0.5f), b = fill({40, 24 + t}, 2.f);
      differences.check(matmul(a, b)(0, 0).item<float>() == 40.f);
    }
  });
}

BOOST_AUTO_TEST_CASE(scopes_belong_to_their_thread) {
  Differences differences;
  in_threads([&](int t) {
    for (int i = 0; i < kTurns; ++i) {
      const DeviceScope on(t % 2 == 0 ? "/cpu:0" : "");
      Graph graph;
      const GraphScope building(graph);
      const NameScope scope("thread" + std::to_string(t));
      const Tensor a = placeholder(kFloat32, {2}, "a");
      differences.check(graph.at(graph.output_of(relu(a)).node).name() == "thread" + std::to_string(t) + "/Relu");
    }
  });
}

BOOST_AUTO_TEST_CASE(graphs_are_saved_and_loaded) {
  const Function f = trace([](const Tensor& a) { return tanh(a) + 1.f; }, {TensorSpec(kFloat32, {-1}, "a")});
  const Tensor x = tensor({0.f, 1.f});
  const Floats expected = f(x).to_vector<float>();
  Differences differences;
  in_threads([&](int) {
    for (int i = 0; i < kTurns; ++i) {
      const Function again = function_of(parse_graph(to_graph_def(f.frozen_graph())));
      differences.check(again(x).to_vector<float>() == expected);
      differences.check(!f.to_string().empty() && f.outputs().size() == 1);
    }
  });
}

BOOST_AUTO_TEST_CASE(passes_are_added_while_others_run) {
  const Tensor x = tensor({1.f, 2.f});
  std::atomic<int> number = 0;
  Differences differences;
  in_threads([&](int t) {
    for (int i = 0; i < 5; ++i) {
      if (t == 0) {
        add_pass({.name = "own_" + std::to_string(number++), .doc = "", .run = [](PassContext&) { return 0; }}, "cse");
      }
      const Function f = trace([](const Tensor& a) { return (a + a) * a; }, {TensorSpec(kFloat32, {2})});
      differences.check(f(x).to_vector<float>() == Floats{2, 8});
    }
  });
}

BOOST_AUTO_TEST_CASE(passes_over_one_dataset) {
  const Dataset dataset = Dataset::from_tensors({arange(40), arange(40) * 2})
                              .shuffle(10, 3)
                              .map([](const Tensor& x, const Tensor& y) { return std::pair(x + 1, y); }, {.threads = 3})
                              .batch(3)
                              .prefetch(2);
  const Dataset kept = dataset.cache();
  Differences differences;
  in_threads([&](int t) {
    for (int i = 0; i < kTurns; ++i) {
      const int last = (t + i) % 4 == 0 ? i % 5 : 100;  // some leave early
      int sum = 0, count = 0;
      for (auto [x, y] : i % 3 == 0 ? kept : dataset) {
        if (count == 1) differences.check(!dataset.state().empty());  // of this thread's pass, or of another one's
        differences.check(((x - 1) * 2 - y).to_vector<int32_t>() ==
                          std::vector<int32_t>(static_cast<size_t>(x.dim(0))));
        sum += y.sum().item<int>();
        if (++count > last) break;
      }
      differences.check(last < 100 || (count == 14 && sum == 39 * 40));
    }
  });
}

BOOST_AUTO_TEST_CASE(functions_of_datasets_that_throw) {
  const Dataset dataset = Dataset::from_tensors({arange(40)})
                              .repeat()
                              .map(
                                  [](const Tensor& x) {
                                    if (x.item<int>() == 17) fail(Code::kDataLoss, "17");
                                    return x;
                                  },
                                  {.threads = 4})
                              .prefetch(3);
  Differences differences;
  in_threads([&](int) {
    for (int i = 0; i < kTurns; ++i) {
      int count = 0;
      try {
        for ([[maybe_unused]] const Tensor x : dataset) ++count;
      } catch (const Error& error) {
        differences.check(count == 17 && error.code() == Code::kDataLoss);
      }
    }
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
