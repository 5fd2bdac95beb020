// Checkpoints: the bytes are those that TensorFlow writes, what is written is read, the old one stays until the new one
// is there, and nothing in a file can harm. tests/interop/files/test_checkpoints.py compares with TensorFlow.
#include "panto/lib/graph/checkpoints/checkpoint_file.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <complex>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include "panto/lib/base/file.h"
#include "panto/lib/core/io/crc32c.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/graph/checkpoints/checkpoint_state.h"
#include "panto/lib/graph/checkpoints/table.h"
#include "panto/lib/graph/proto/tensor_bundle.pb.h"
#include "panto/lib/ops/create.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"

namespace panto {
namespace {

// Not write_file, which waits for the disk each time.
void put_file(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

bool same(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) return false;
  if (a.dtype() == kString) return a.to_vector<std::string>() == b.to_vector<std::string>();
  return std::memcmp(a.impl()->data, b.impl()->data, a.nbytes()) == 0;
}

Tensor strings(const std::vector<std::string>& texts) {
  Tensor t = allocate_tensor(cpu_device(), kString, Shape{texts.size()});
  std::ranges::copy(texts, mutable_data<std::string>(t));
  return t;
}

std::vector<NamedTensor> samples() {
  std::vector<NamedTensor> all = {{"dense/kernel", tensor({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}})},
                                  {"scalar", tensor(2.5)},
                                  {"none", tensor(std::vector<int64_t>{}, Shape{0, 3})},
                                  {"texts", strings({"", "one", std::string(300, 'x'), std::string("\0\xff", 2)})},
                                  {"no_texts", strings({})},
                                  {"a name with \n and \xff", tensor({true, false})}};
  for (const DType dtype :
       {kBool,    kInt8,    kInt16,    kInt32,     kInt64,      kUint8, kUint16, kUint32, kUint64,  kFloat16,
        kFloat32, kFloat64, kBFloat16, kComplex64, kComplex128, kQInt8, kQUint8, kQInt16, kQUint16, kQInt32}) {
    const std::string data(dtype_size(dtype) * 3, '\1');
    all.emplace_back(std::string("of ") + std::string(dtype_name(dtype)),
                     tensor_from_bytes(dtype, Shape{3}, data.data(), data.size()));
  }
  return all;
}

void expect_same(const std::vector<NamedTensor>& read, const std::vector<NamedTensor>& written) {
  std::map<std::string, Tensor> by_name(written.begin(), written.end());
  BOOST_REQUIRE(read.size() == by_name.size());
  auto expected = by_name.begin();
  for (const auto& [name, value] : read) {
    BOOST_TEST(name == expected->first);
    BOOST_TEST(same(value, expected->second), name);
    ++expected;
  }
}

using Pairs = std::map<std::string, std::string>;

// The index of a checkpoint as pairs, and the other way round: to change what stands there with its checksums right.
Pairs index_of(const std::string& prefix) {
  Pairs pairs;
  Table(prefix + ".index").for_each([&](std::string_view key, std::string_view value) { pairs.emplace(key, value); });
  return pairs;
}
void write_index(const std::string& prefix, const Pairs& pairs) {
  TableWriter writer;
  for (const auto& [key, value] : pairs) writer.add(key, value);
  put_file(prefix + ".index", writer.finish());
}
template <class Message, class Change>
void change(std::string& bytes, Change body) {
  Message message;
  BOOST_REQUIRE(message.ParseFromString(bytes));
  body(message);
  bytes = message.SerializeAsString();
}

struct Written {
  Written() { write_checkpoint(prefix, {{"a", tensor({1.f, 2.f})}, {"b", tensor({3, 4, 5})}}); }
  template <class Change>
  void expect_fault(const std::string& key, Change body, std::string_view text) const {
    const Pairs before = index_of(prefix);
    Pairs changed = before;
    change<graphdef::BundleEntryProto>(changed.at(key), body);
    write_index(prefix, changed);
    const std::string got = error_text([&] { (void)read_checkpoint(prefix); });
    BOOST_TEST(got.substr(0, text.size()) == text, got);
    write_index(prefix, before);
  }
  const TestFolder folder;
  const std::string prefix = folder / "m.ckpt";
  const std::string in_index = " [in file '" + prefix + ".index']";
};

std::string hex(std::string_view digits) {
  std::string bytes;
  for (size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

BOOST_AUTO_TEST_SUITE(graph)
BOOST_AUTO_TEST_SUITE(checkpoint_file)

// As TensorFlow writes a variable `a` of 0.5.
BOOST_AUTO_TEST_CASE(bytes) {
  const TestFolder folder;
  write_checkpoint(folder / "c", {{"a", tensor(0.5f)}});
  BOOST_TEST(folder.files() == 2U);
  BOOST_TEST((read_file(folder / "c.data-00000-of-00001") == hex("0000003f")));
  BOOST_TEST((read_file(folder / "c.index") ==
              hex("00000608011a02080100010b61080112002804350638271f0000000001000000004505e1ca000000000100000000c0f2a1b0"
                  "00010262002000000000010000000030d3691c2508320e") +
                  std::string(36, '\0') + hex("57fb808b247547db")));
}

BOOST_AUTO_TEST_CASE(what_is_written_is_read) {
  const TestFolder folder;
  const std::string prefix = folder / "model.ckpt-7";
  write_checkpoint(prefix, samples());
  expect_same(read_checkpoint(prefix), samples());
  expect_same(read_checkpoint(prefix + ".index"), samples());
  const CheckpointReader reader(prefix);
  BOOST_TEST(reader.prefix() == prefix);
  BOOST_TEST(!reader.has_object_graph());
  BOOST_REQUIRE(reader.find("dense/kernel") != nullptr);
  BOOST_TEST((reader.find("dense/kernel")->shape == Shape{2, 3}));
  BOOST_TEST(reader.find("dense/kernel")->dtype_text == "float32");
  BOOST_TEST(reader.find("dense") == nullptr);
  BOOST_TEST(same(reader.read("scalar"), tensor(2.5)));
  BOOST_TEST(list_variables(prefix).size() == samples().size());
  expect_error([&] { (void)reader.read("kernel"); },
               "NotFound: checkpoint '" + prefix + "': expected the name of one of its 26 tensors, got 'kernel'");
  write_checkpoint(folder / "empty", {});
  BOOST_TEST(read_checkpoint(folder / "empty").empty());
  BOOST_TEST(checkpoint_exists(prefix));
  BOOST_TEST(!checkpoint_exists(folder / "model.ckpt"));
  remove_checkpoint(prefix);
  remove_checkpoint(prefix);
  BOOST_TEST(!checkpoint_exists(prefix));
  BOOST_TEST(folder.files() == 2U);
}

BOOST_AUTO_TEST_CASE(one_value_is_read_without_the_others) {
  const Written w;
  const std::string path = w.prefix + ".data-00000-of-00001";
  std::string bytes = read_file(path);
  bytes[0] = '\x7f';
  put_file(path, bytes);
  const CheckpointReader reader(w.prefix);
  BOOST_TEST(same(reader.read("b"), tensor({3, 4, 5})));
  expect_error_begins([&] { (void)reader.read("a"); }, "DataLoss: checkpoint: expected the checksum ");
  std::filesystem::remove(path);
  expect_error([&] { (void)read_checkpoint(w.prefix); },
               "NotFound: cannot open file '" + path + "': No such file or directory [in tensor 'a']");
  BOOST_TEST(list_variables(w.prefix).size() == 2U);
}

BOOST_AUTO_TEST_CASE(the_old_one_stays_until_the_new_one_is_there) {
  const Written w;
  const auto names = [&] {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(w.folder.path())) {
      found.push_back(entry.path().filename().string().substr(6));
    }
    std::ranges::sort(found);
    return found;
  };
  const std::vector<std::string> one = {".data-00000-of-00001", ".index"};
  const std::vector<std::string> two = {".data-00000-of-00002", ".data-00001-of-00002", ".index"};
  BOOST_TEST((names() == one));
  write_checkpoint(w.prefix, {{"a", tensor({9.f})}});
  BOOST_TEST((names() == two));
  expect_same(read_checkpoint(w.prefix), {{"a", tensor({9.f})}});
  write_checkpoint(w.prefix, {{"a", tensor({8.f})}});
  BOOST_TEST((names() == one));
  expect_same(read_checkpoint(w.prefix), {{"a", tensor({8.f})}});
  // What cannot be written leaves what was there.
  expect_error_begins([&] { write_checkpoint(w.prefix, {{"x", tensor(1.F)}, {"r", resource_tensor(nullptr)}}); },
                      "Unimplemented: checkpoint: expected a dtype with values for 'r', got resource");
  expect_same(read_checkpoint(w.prefix), {{"a", tensor({8.f})}});
  // A damaged one does not hinder.
  put_file(w.prefix + ".index", "damaged");
  write_checkpoint(w.prefix, {{"a", tensor({7.f})}});
  expect_same(read_checkpoint(w.prefix), {{"a", tensor({7.f})}});
  BOOST_TEST((names() == one));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_written) {
  const TestFolder folder;
  const std::string prefix = folder / "c";
  const auto write = [&](const std::string& name, const Tensor& t) {
    return [=] { write_checkpoint(prefix, {{name, t}}); };
  };
  expect_error(write("", tensor(1.f)),
               "InvalidArgument: checkpoint: expected names that begin with a character, got ''");
  expect_error(write(std::string("\0a", 2), tensor(1.f)),
               "InvalidArgument: checkpoint: expected names that begin with a character, got '\\x00a'");
  expect_error([&] { write_checkpoint(prefix, {{"a", tensor(1.f)}, {"b", tensor(1.f)}, {"a", tensor(2.f)}}); },
               "InvalidArgument: checkpoint: expected each name once, got 'a' twice");
  expect_error(write("m", meta_tensor(kFloat32, {2})),
               "FailedPrecondition: copy: expected a tensor with a value, got symbolic float32[2]");
  expect_error([&] { write_checkpoint(folder / "", {}); },
               "InvalidArgument: checkpoint: expected the name of a file, got '" + (folder / "") + "'");
  expect_error([&] { write_checkpoint(folder / "no/c", {}); },
               "NotFound: cannot write file '" + (folder / "no/c.index") + "': No such file or directory");
  BOOST_TEST(folder.files() == 0U);
  expect_error([&] { (void)read_checkpoint(prefix); },
               "NotFound: cannot open file '" + prefix + ".index': No such file or directory");
}

// w float32[2,3] in two parts, as tf.compat.v1.fixed_size_partitioner makes them.
BOOST_AUTO_TEST_CASE(parts) {
  const TestFolder folder;
  const std::string prefix = folder / "c";
  // Zero, the name, the rank, and from where how many in each dimension; -1 is all.
  const std::string first("\0w\0\1\1\2\x80\x82\x80\x81", 10), second("\0w\0\1\1\2\x80\x82\x81\x82", 10);
  // Keys that begin with a zero byte cannot be written: under other names of the same length, then.
  write_checkpoint(prefix, {{"1234567890", tensor({{1.f}, {4.f}})}, {"2345678901", tensor({{2.f, 3.f}, {5.f, 6.f}})}});
  Pairs pairs = index_of(prefix);
  pairs[first] = pairs["1234567890"];
  pairs[second] = pairs["2345678901"];
  pairs.erase("1234567890");
  pairs.erase("2345678901");
  graphdef::BundleEntryProto whole;
  whole.set_dtype(graphdef::DT_FLOAT);
  whole.mutable_shape()->add_dim()->set_size(2);
  whole.mutable_shape()->add_dim()->set_size(3);
  for (const auto& [start, length] : {std::pair(0, 1), std::pair(1, 2)}) {
    auto* slice = whole.add_slices();
    slice->add_extent()->set_length(2);
    slice->add_extent()->set_start(start);
    slice->mutable_extent(1)->set_length(length);
  }
  pairs["w"] = whole.SerializeAsString();
  write_index(prefix, pairs);
  expect_same(read_checkpoint(prefix), {{"w", tensor({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}})}});
  BOOST_TEST(list_variables(prefix)[0].slices == 2);
  const auto with_slice = [&](int start, int length) {
    graphdef::BundleEntryProto other = whole;
    other.mutable_slices(1)->mutable_extent(1)->set_start(start);
    other.mutable_slices(1)->mutable_extent(1)->set_length(length);
    Pairs changed = pairs;
    changed["w"] = other.SerializeAsString();
    write_index(prefix, changed);
    return error_text([&] { (void)read_checkpoint(prefix); });
  };
  const std::string in_index = " [in file '" + prefix + ".index']";
  BOOST_TEST(with_slice(2, 2) ==
             "DataLoss: slice: expected a range within dimension 1 of [2,3], got 2 from 2 on" + in_index);
  BOOST_TEST(with_slice(-1, 2).starts_with("DataLoss: slice: expected a range within dimension 1 of [2,3]"));
  BOOST_TEST(with_slice(1, -1).starts_with("DataLoss: slice: expected a range within dimension 1 of [2,3]"));
  BOOST_TEST(with_slice(1, 1) ==
             "DataLoss: checkpoint: expected an entry of the part [2,1] of 'w', got none" + in_index);
  BOOST_TEST(with_slice(0, 1) == "DataLoss: checkpoint: expected each part of 'w' once, got one twice" + in_index);
  Pairs changed = pairs;
  change<graphdef::BundleEntryProto>(changed.at(second),
                                     [](graphdef::BundleEntryProto& e) { e.set_dtype(graphdef::DT_INT32); });
  write_index(prefix, changed);
  expect_error(
      [&] { (void)read_checkpoint(prefix); },
      "DataLoss: checkpoint: expected float32[2,2] as a part of 'w', got int32[2,2]" + in_index + " [in tensor 'w']");
}

BOOST_AUTO_TEST_CASE(sizes_that_lie) {
  using Entry = graphdef::BundleEntryProto;
  const Written w;
  w.expect_fault(
      "a", [](Entry& e) { e.set_size(12); },
      "DataLoss: checkpoint: expected 8 bytes for float32[2], got 12 [in tensor 'a']" + w.in_index);
  w.expect_fault(
      "a", [](Entry& e) { e.mutable_shape()->mutable_dim(0)->set_size(int64_t{1} << 40); },
      "DataLoss: checkpoint: expected 4398046511104 bytes for float32[1099511627776], got 8");
  w.expect_fault(
      "a",
      [](Entry& e) {
        e.mutable_shape()->mutable_dim(0)->set_size(int64_t{1} << 40);
        e.set_size(int64_t{1} << 42);
        e.set_offset(20);
      },
      "DataLoss: checkpoint: expected 4398046511104 bytes from byte 20 on, got 20 in all");
  w.expect_fault("a", [](Entry& e) { e.mutable_shape()->mutable_dim(0)->set_size(-1); }, "InvalidArgument: ");
  w.expect_fault(
      "a", [](Entry& e) { e.set_offset(-8); },
      "DataLoss: checkpoint: expected bytes in one of 1 files, got 8 bytes from -8 on in number 0");
  w.expect_fault(
      "a", [](Entry& e) { e.set_offset(INT64_MAX); },
      "DataLoss: checkpoint: expected 8 bytes from byte 9223372036854775807 on, got 20 in all");
  w.expect_fault(
      "a", [](Entry& e) { e.set_shard_id(1); },
      "DataLoss: checkpoint: expected bytes in one of 1 files, got 8 bytes from 0 on in number 1");
  w.expect_fault(
      "a", [](Entry& e) { e.set_offset(8); },
      "DataLoss: checkpoint: expected tensors in bytes of their own, got 'a' and 'b' in the same");
  w.expect_fault(
      "a", [](Entry& e) { e.set_offset(4); },
      "DataLoss: checkpoint: expected tensors in bytes of their own, got 'a' and 'b' in the same");
  w.expect_fault(
      "a", [](Entry& e) { e.set_dtype(static_cast<graphdef::DataType>(99)); },
      "DataLoss: checkpoint: expected the number of a dtype, got 99 [in tensor 'a']" + w.in_index);
  w.expect_fault(
      "a", [](Entry& e) { e.set_dtype(graphdef::DT_INT4); },
      "Unimplemented: checkpoint: expected a dtype of this library with values, got int4 [in tensor 'a']");
  w.expect_fault("a", [](Entry& e) { e.set_dtype(graphdef::DT_STRING); }, "DataLoss: ");
}

BOOST_AUTO_TEST_CASE(headers) {
  using Header = graphdef::BundleHeaderProto;
  const Written w;
  const Pairs before = index_of(w.prefix);
  const auto with = [&](auto body) {
    Pairs changed = before;
    change<Header>(changed.at(""), body);
    write_index(w.prefix, changed);
    return error_text([&] { (void)read_checkpoint(w.prefix); });
  };
  BOOST_TEST(with([](Header& h) { h.set_num_shards(0); }) ==
             "DataLoss: checkpoint: expected 1 to 100000 files of data, got 0" + w.in_index);
  BOOST_TEST(with([](Header& h) { h.set_num_shards(200000); }) ==
             "DataLoss: checkpoint: expected 1 to 100000 files of data, got 200000" + w.in_index);
  BOOST_TEST(with([](Header& h) { h.mutable_version()->set_min_consumer(2); }) ==
             "Unimplemented: checkpoint: expected one for readers of version 1, got one for version 2" + w.in_index);
  // The most significant byte first.
  BOOST_TEST(with([](Header& h) { h.set_endianness(Header::BIG); }) == "nothing was thrown");
  BOOST_TEST(read_checkpoint(w.prefix)[1].second.to_vector<int32_t>()[0] == 3 << 24);
  Pairs changed = before;
  changed.erase("");
  write_index(w.prefix, changed);
  expect_error([&] { (void)read_checkpoint(w.prefix); },
               "DataLoss: checkpoint: expected a header, got none" + w.in_index);
}

// Every entry of the index with some bytes changed, under a checksum that is right.
BOOST_AUTO_TEST_CASE(changed_entries_are_survived) {
  const TestFolder folder;
  const std::string prefix = folder / "c";
  write_checkpoint(prefix, samples());
  const Pairs before = index_of(prefix);
  std::mt19937 random(3);
  int errors = 0;
  for (int i = 0; i < 1500; ++i) {
    Pairs changed = before;
    auto entry = changed.begin();
    std::advance(entry, static_cast<ptrdiff_t>(random() % changed.size()));
    for (size_t k = 0; k <= random() % 3; ++k) {
      if (!entry->second.empty()) entry->second[random() % entry->second.size()] = static_cast<char>(random());
    }
    write_index(prefix, changed);
    try {
      (void)read_checkpoint(prefix);
    } catch (const Error& error) {
      ++errors;
      BOOST_TEST((error.code() == Code::kDataLoss || error.code() == Code::kInvalidArgument ||
                  error.code() == Code::kUnimplemented || error.code() == Code::kNotFound),
                 error.what());
    }
  }
  BOOST_TEST(errors > 1000);
}

BOOST_AUTO_TEST_CASE(every_changed_byte_of_data_is_noticed) {
  const TestFolder folder;
  const std::string prefix = folder / "c";
  write_checkpoint(prefix, samples());
  const std::string path = prefix + ".data-00000-of-00001";
  const std::string bytes = read_file(path);
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ (1 << (i % 8)));
    put_file(path, changed);
    expect_error_begins([&] { (void)read_checkpoint(prefix); }, "DataLoss: ");
  }
  for (size_t length = 0; length < bytes.size(); length += 3) {
    put_file(path, bytes.substr(0, length));
    expect_error_begins([&] { (void)read_checkpoint(prefix); }, "DataLoss: checkpoint: expected ");
  }
}

BOOST_AUTO_TEST_CASE(object_graphs) {
  const TestFolder folder;
  const std::string prefix = folder / "ckpt-1";
  const std::vector<NamedTensor> values = {
      {"model/dense/kernel", tensor({1.f})}, {"model/dense/bias", tensor({2.f})}, {"step", tensor(int64_t{3})}};
  write_checkpoint(prefix, values, {.object_graph = true});
  const CheckpointReader reader(prefix);
  BOOST_TEST(reader.has_object_graph());
  BOOST_TEST(reader.variables().size() == 4U);
  for (const auto& [name, value] : values) {
    BOOST_TEST(same(reader.read(name), value), name);
    BOOST_TEST(same(reader.read(name + "/.ATTRIBUTES/VARIABLE_VALUE"), value), name);
  }
  const auto write = [&](const std::string& a, const std::string& b) {
    return [=] {
      write_checkpoint(prefix, std::vector<NamedTensor>{{a, tensor(1.f)}, {b, tensor(1.f)}}, {.object_graph = true});
    };
  };
  expect_error(write("a", "b//c"), "InvalidArgument: checkpoint: expected names between slashes, got 'b//c'");
  expect_error(write("a", "b/"), "InvalidArgument: checkpoint: expected names between slashes, got 'b/'");
  expect_error(write("a", "a/b"),
               "InvalidArgument: checkpoint: expected names below objects, got 'a/b' below the variable 'a'");
}

BOOST_AUTO_TEST_CASE(names_of_checkpoints) {
  for (const char* name : {"model.ckpt", "run/model.ckpt-100", "ckpt-5", "a/ckpt", "x.ckpt-0"}) {
    BOOST_TEST(is_checkpoint_name(name), name);
  }
  for (const char* name : {"model", "model.npz", "ckpt/model", "model.ckpt.npz", "model.ckpt-", "model.ckpt-1a", ""}) {
    BOOST_TEST(!is_checkpoint_name(name), name);
  }
  BOOST_TEST(checkpoint_step("run/model.ckpt-100") == 100);
  BOOST_TEST(checkpoint_step("ckpt-0") == 0);
  BOOST_TEST(checkpoint_step("run-5/model.ckpt") == -1);
  BOOST_TEST(checkpoint_step("m-99999999999999999999") == -1);
}

BOOST_AUTO_TEST_CASE(the_state_of_a_folder) {
  const TestFolder folder;
  const std::string path = folder.path().string();
  BOOST_TEST(!read_checkpoint_state(path).has_value());
  BOOST_TEST(!latest_checkpoint(path).has_value());
  write_checkpoint_state(path, {.latest = "m-2", .all = {"m-1", "m-2"}, .timestamps = {1.5, 2.5}, .last_preserved = 1});
  BOOST_TEST(read_file(folder / "checkpoint") ==
             "model_checkpoint_path: \"m-2\"\nall_model_checkpoint_paths: \"m-1\"\n"
             "all_model_checkpoint_paths: \"m-2\"\nall_model_checkpoint_timestamps: 1.5\n"
             "all_model_checkpoint_timestamps: 2.5\nlast_preserved_timestamp: 1\n");
  const auto state = read_checkpoint_state(path);
  BOOST_REQUIRE(state.has_value());
  BOOST_TEST(state->latest == "m-2");
  BOOST_TEST((state->all == std::vector<std::string>{"m-1", "m-2"}));
  BOOST_TEST((state->timestamps == std::vector<double>{1.5, 2.5}));
  BOOST_TEST(state->last_preserved == 1);
  BOOST_TEST(!latest_checkpoint(path).has_value());  // none of them is there
  write_checkpoint(folder / "m-1", {{"a", tensor(1.f)}});
  BOOST_TEST((latest_checkpoint(path) == folder / "m-1"));
  write_checkpoint(folder / "m-2", {{"a", tensor(1.f)}});
  BOOST_TEST((latest_checkpoint(path) == folder / "m-2"));
  write_checkpoint_state(path, {.latest = folder / "m-1"});
  BOOST_TEST((latest_checkpoint(path) == folder / "m-1"));
  put_file(folder / "checkpoint", "no such thing");
  expect_error_begins([&] { (void)latest_checkpoint(path); }, "DataLoss: CheckpointState: expected its text form");
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
