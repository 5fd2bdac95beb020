#include "panto/lib/core/tensor/tensor_alloc.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <set>
#include <thread>

#include "panto/lib/core/collections/variant.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/tests/expect.h"

namespace panto {
namespace {

Tensor bytes_of(int64_t n, uint8_t value) {
  Tensor t = allocate_tensor(cpu_device(), kUint8, Shape{n});
  if (n > 0) std::memset(t.impl()->data, value, static_cast<size_t>(n));
  return t;
}

bool all_are(const Tensor& t, uint8_t value) {
  for (uint8_t b : t.data<uint8_t>()) {
    if (b != value) return false;
  }
  return true;
}

// Holds tensors of any kind: nested by a program's data, as deep as it likes.
class Box final : public VariantValue {
 public:
  explicit Box(std::vector<Tensor> in) : in_(std::move(in)) { ++alive; }
  ~Box() override { --alive; }
  std::string_view kind() const noexcept override { return "Box"; }
  std::string to_string() const override { return "box"; }
  static inline std::atomic<int> alive{0};

 private:
  std::vector<Tensor> in_;
};
class BoxResource final : public Resource {
 public:
  explicit BoxResource(Tensor in) : Resource("", "box"), in_(std::move(in)) { ++Box::alive; }
  ~BoxResource() override { --Box::alive; }
  std::string_view kind() const noexcept override { return "Box"; }

 private:
  Tensor in_;
};
Tensor box_of(std::vector<Tensor> in) {
  Tensor t = allocate_tensor(cpu_device(), kVariant, Shape{});
  mutable_data<Variant>(t)->value = std::make_shared<Box>(std::move(in));
  return t;
}

BOOST_AUTO_TEST_SUITE(tensor_alloc)

// What destroys one must not call itself for each one inside of it.
BOOST_AUTO_TEST_CASE(values_within_values_need_no_deep_stack, *boost::unit_test::label("heavy")) {
  constexpr int kLevels = 1'000'000;
  const auto destroy_all = [](int levels, auto wrap) {
    Tensor t = bytes_of(1, 1);
    for (int i = 0; i < levels; ++i) t = wrap(std::move(t));
    t = Tensor();
    BOOST_TEST(Box::alive == 0);
  };
  destroy_all(kLevels, [](Tensor t) { return box_of({std::move(t)}); });
  destroy_all(kLevels, [](Tensor t) { return resource_tensor(std::make_shared<BoxResource>(std::move(t))); });
  destroy_all(kLevels / 20, [i = 0](Tensor t) mutable {  // in one another, beside others, as views
    const Tensor beside = box_of({bytes_of(300, 2)});
    Tensor both = box_of({beside, view_tensor(t, t.shape()), std::move(t)});
    return ++i % 2 == 0 ? std::move(both) : resource_tensor(std::make_shared<BoxResource>(std::move(both)));
  });
}

BOOST_AUTO_TEST_CASE(values_within_values_go_when_the_last_holder_does) {
  const Tensor inner = box_of({});
  Tensor outer = box_of({inner, box_of({inner})});
  BOOST_TEST(Box::alive == 3);
  outer = Tensor();
  BOOST_TEST(Box::alive == 1);
}

BOOST_AUTO_TEST_CASE(data_is_aligned_and_never_null) {
  for (DType t : {kFloat32, kComplex128, kInt8, kString, kResource, kVariant}) {
    for (int64_t n : {0, 1, 16, 32, 64, 65, 256, 257, 10000}) {
      const Tensor made = allocate_tensor(cpu_device(), t, Shape{n});
      BOOST_TEST(made.impl()->data != nullptr);
      BOOST_TEST(reinterpret_cast<uintptr_t>(made.impl()->data) % 64 == 0U);
      BOOST_TEST(made.nbytes() == static_cast<size_t>(n) * dtype_size(t));
    }
  }
}

BOOST_AUTO_TEST_CASE(small_plain_tensors_are_one_block) {
  BOOST_TEST(allocate_tensor(cpu_device(), kFloat32, Shape{8, 8}).impl()->inline_data);
  BOOST_TEST(!allocate_tensor(cpu_device(), kFloat32, Shape{65}).impl()->inline_data);
  BOOST_TEST(!allocate_tensor(cpu_device(), kString, Shape{1}).impl()->inline_data);
  BOOST_TEST(allocate_tensor(cpu_device(), kFloat64, Shape{0, 1 << 20}).impl()->inline_data);
}

BOOST_AUTO_TEST_CASE(neighbours_do_not_overlap) {
  std::vector<Tensor> tensors;
  for (int i = 0; i < 1000; ++i) tensors.push_back(bytes_of(i % 300, static_cast<uint8_t>(i)));
  for (int i = 0; i < 1000; i += 3) tensors[static_cast<size_t>(i)] = bytes_of(256, static_cast<uint8_t>(i));
  for (int i = 0; i < 1000; ++i) BOOST_TEST(all_are(tensors[static_cast<size_t>(i)], static_cast<uint8_t>(i)));
}

BOOST_AUTO_TEST_CASE(ids_are_unique_over_threads) {
  constexpr int kThreads = 8;
  constexpr int kEach = 20000;
  std::vector<std::vector<int64_t>> ids(kThreads);
  std::vector<std::thread> threads;
  for (auto& mine : ids) {
    threads.emplace_back([&mine] {
      for (int i = 0; i < kEach; ++i) mine.push_back(next_tensor_id());
    });
  }
  for (std::thread& t : threads) t.join();
  std::set<int64_t> all;
  for (const auto& mine : ids) {
    BOOST_TEST(std::is_sorted(mine.begin(), mine.end()));
    all.insert(mine.begin(), mine.end());
  }
  BOOST_TEST(all.size() == size_t{kThreads} * kEach);
  BOOST_TEST(*all.begin() > 0);
}

// Made on one thread, freed on another: neither may run out, lose or share blocks.
BOOST_AUTO_TEST_CASE(freed_on_another_thread) {
  std::vector<Tensor> batch;
  std::atomic<int> state{0};  // 0: empty, 1: full, 2: end
  bool intact = true;
  std::thread consumer([&] {
    for (;;) {
      state.wait(0);
      if (state == 2) return;
      for (size_t i = 0; i < batch.size(); ++i) intact = intact && all_are(batch[i], static_cast<uint8_t>(i));
      batch.clear();
      state = 0;
      state.notify_one();
    }
  });
  for (int round = 0; round < 100; ++round) {
    for (size_t i = 0; i < 500; ++i) batch.push_back(bytes_of(static_cast<int64_t>(i % 280), static_cast<uint8_t>(i)));
    state = 1;
    state.notify_one();
    state.wait(1);
  }
  state = 2;
  state.notify_one();
  consumer.join();
  BOOST_TEST(intact);
}

BOOST_AUTO_TEST_CASE(tensors_outlive_the_thread_that_made_them) {
  std::vector<Tensor> kept;
  for (int i = 0; i < 50; ++i) {
    std::thread([&] {
      for (int k = 0; k < 100; ++k) kept.push_back(bytes_of(k, static_cast<uint8_t>(k)));
    }).join();
  }
  for (size_t i = 0; i < kept.size(); ++i) BOOST_TEST(all_are(kept[i], static_cast<uint8_t>(i % 100)));
}

// Objects of a thread that hold tensors, destroyed before and after the library's own.
BOOST_AUTO_TEST_CASE(tensors_held_by_a_thread_that_ends) {
  struct Holder {
    Tensor small;
    Tensor large;
    ~Holder() {
      const Tensor last = bytes_of(100, 9);  // may still make some
      if (!all_are(last, 9)) std::terminate();
    }
  };
  for (int i = 0; i < 20; ++i) {
    std::thread([i] {
      // Which of the two is destroyed first depends on which is made first.
      if (i % 2 == 0) bytes_of(1, 1);
      static thread_local Holder holder;
      holder.small = bytes_of(10, 1);
      holder.large = bytes_of(1000, 2);
    }).join();
  }
}

BOOST_AUTO_TEST_CASE(elements_that_are_objects) {
  const auto counted = std::make_shared<VariableResource>("", "x", kFloat32, PartialShape{});
  {
    const Tensor t = allocate_tensor(cpu_device(), kResource, Shape{3});
    for (int i = 0; i < 3; ++i) {
      BOOST_TEST(mutable_data<ResourceHandle>(t)[i] == nullptr);
      mutable_data<ResourceHandle>(t)[i] = counted;
    }
    BOOST_TEST(counted.use_count() == 4);
    const Tensor view = view_tensor(t, Shape{1}, 2);
    BOOST_TEST(counted.use_count() == 4);  // shared
    BOOST_TEST(view.data<ResourceHandle>()[0] == counted);
  }
  BOOST_TEST(counted.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(views) {
  std::vector<float> values(300);
  std::iota(values.begin(), values.end(), 0.F);
  const Tensor base = tensor(values, Shape{3, 100});
  const Tensor row = view_tensor(base, Shape{100}, 200);
  BOOST_TEST(row.data<float>()[0] == 200.F);
  BOOST_TEST(row.data<float>().data() == base.data<float>().data() + 200);
  BOOST_TEST(row.id() != base.id());
  // A few elements are copied: they do not keep the rest alive.
  const Tensor few = view_tensor(base, Shape{2}, 5);
  BOOST_TEST((few.to_vector<float>() == std::vector<float>{5, 6}));
  BOOST_TEST(few.impl()->buffer == nullptr);
  const Tensor nothing = view_tensor(base, Shape{0}, 300);
  BOOST_TEST(nothing.numel() == 0);
  expect_error([&] { view_tensor(base, Shape{2}, 299); },
               "Internal: view: expected elements within [0, 300), got 2 from 299");
  expect_error([&] { view_tensor(base, Shape{1}, -1); },
               "Internal: view: expected elements within [0, 300), got 1 from -1");
  Tensor outlives;
  {
    const Tensor owner = tensor(values);
    outlives = view_tensor(owner, Shape{150}, 150);
  }
  BOOST_TEST(outlives.data<float>()[149] == 299.F);
}

BOOST_AUTO_TEST_CASE(adopted_memory) {
  auto owner = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3});
  std::weak_ptr<std::vector<float>> watch = owner;
  float* data = owner->data();
  Tensor t = adopt_tensor(cpu_device(), kFloat32, Shape{3}, data, std::move(owner));
  BOOST_TEST(t.data<float>().data() == data);
  BOOST_TEST(!exclusively_owned(t));  // nobody may write over somebody else's memory
  Tensor view = view_tensor(t, Shape{3});
  t = Tensor();
  BOOST_TEST(!watch.expired() == (view.impl()->buffer != nullptr));
  view = Tensor();
  BOOST_TEST(watch.expired());
  BOOST_TEST(adopt_tensor(cpu_device(), kFloat32, Shape{0}, nullptr, nullptr).impl()->data != nullptr);
  expect_error([] { adopt_tensor(cpu_device(), kFloat32, Shape{1}, nullptr, nullptr); },
               "InvalidArgument: adopted memory: expected an address, got null");
  expect_error([] { adopt_tensor(cpu_device(), kString, Shape{0}, nullptr, nullptr); },
               "InvalidArgument: adopted memory: expected elements of a plain type, got string");
}

BOOST_AUTO_TEST_CASE(who_may_be_written_over) {
  for (int64_t n : {4, 400}) {
    Tensor t = bytes_of(n, 1);
    BOOST_TEST(exclusively_owned(t));
    {
      const Tensor second = t;
      BOOST_TEST(!exclusively_owned(t));
    }
    BOOST_TEST(exclusively_owned(t));
    const Tensor view = view_tensor(t, Shape{n});
    BOOST_TEST(exclusively_owned(t) == (n == 4));  // a small view has bytes of its own
  }
  BOOST_TEST(!exclusively_owned(Tensor()));
  BOOST_TEST(!exclusively_owned(meta_tensor(kFloat32, {2})));
}

BOOST_AUTO_TEST_CASE(symbolic_tensors) {
  const int trace = 0;
  const Tensor t = meta_tensor(kInt32, {3}, PartialValues{1, std::nullopt, 3}, &trace);
  BOOST_TEST(t.is_meta());
  BOOST_TEST(t.impl()->data == nullptr);
  BOOST_TEST(t.impl()->meta->trace == &trace);
  BOOST_TEST((known_integers(t) == PartialValues{1, std::nullopt, 3}));
  const Tensor part = view_tensor(t, Shape{2}, 1);
  BOOST_TEST((known_integers(part) == PartialValues{std::nullopt, 3}));
  BOOST_TEST(part.impl()->meta->trace == &trace);
  BOOST_TEST(meta_tensor(kFloat32, PartialShape::unknown()).impl()->numel == -1);
  BOOST_TEST(!known_integers(meta_tensor(kInt64, {300}, PartialValues(300))));
}

BOOST_AUTO_TEST_CASE(known_integers_of_real_tensors) {
  BOOST_TEST((known_integers(tensor({1, -2})) == PartialValues{1, -2}));
  BOOST_TEST((known_integers(tensor(int64_t{7})) == PartialValues{7}));
  BOOST_TEST((known_integers(bytes_of(2, 255)) == PartialValues{255, 255}));
  BOOST_TEST((known_integers(tensor(std::vector<int32_t>{})) == PartialValues{}));
  BOOST_TEST(known_integers(tensor(std::vector<int64_t>(256, 1))).has_value());
  BOOST_TEST(!known_integers(tensor(std::vector<int64_t>(257, 1))));
  BOOST_TEST(!known_integers(tensor({1.f})));
  BOOST_TEST(!known_integers(tensor(true)));
  // What no int64 holds is unknown, not negative.
  BOOST_TEST((known_integers(tensor(std::vector<uint64_t>{1, ~uint64_t{0}})) == PartialValues{1, std::nullopt}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
