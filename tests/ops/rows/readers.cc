// Readers: what their records are, and where they stop. Calls that wait are in tests/threads/waiting_test.cc.
#include <sys/stat.h>
#include <zlib.h>

#include <boost/test/unit_test.hpp>
#include <string>

#include "panto/lib/base/file.h"
#include "panto/lib/core/call/scopes.h"
#include "panto/lib/core/io/graph_files.h"
#include "panto/lib/core/io/record_file.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"
#include "panto/tests/ops/saved.h"
#include "panto/tests/ops/table.h"

namespace panto::test::readers_rows {
namespace {

// A closed queue of these names.
Tensor queue_of_names(const std::vector<std::string>& names) {
  const Tensor queue = fifo_queue({kString}, {.shapes = {Shape{}}});
  for (const std::string& name : names) queue_enqueue(queue, {tensor(name)});
  queue_close(queue);
  return queue;
}

// "key=value" of all records, up to the error at the end.
struct All {
  std::vector<std::string> records;
  std::string error;
};
All all_of(const Tensor& reader, const std::vector<std::string>& names, const std::string& folder = {}) {
  All all;
  const Tensor queue = queue_of_names(names);
  try {
    for (;;) {
      const auto [key, value] = reader_read(reader, queue);
      std::string text = key.item<std::string>();
      if (text.starts_with(folder)) text = text.substr(folder.size());
      all.records.push_back(text + "=" + value.item<std::string>());
    }
  } catch (const Error& error) {
    all.error = error.what();
  }
  return all;
}
void expect_records(const All& all, const std::vector<std::string>& records) {
  BOOST_TEST(all.records == records, boost::test_tools::per_element());
  BOOST_TEST(all.error.starts_with("OutOfRange: queue: expected 1 elements, got 0 in one that is closed"), all.error);
}
int64_t produced(const Tensor& reader) { return reader_num_records_produced(reader).item<int64_t>(); }
int64_t completed(const Tensor& reader) { return reader_num_work_units_completed(reader).item<int64_t>(); }

void names_themselves() {
  const Tensor reader = identity_reader();
  expect_records(all_of(reader, {"a", "b"}), {"a=a", "b=b"});
  BOOST_TEST(produced(reader) == 2);
  BOOST_TEST(completed(reader) == 2);
}

void whole_files() {
  const TestFolder folder;
  write_file(folder / "a", "one\ntwo");
  write_file(folder / "b", "");
  expect_records(all_of(whole_file_reader(), {folder / "a", folder / "b"}, folder / ""), {"a=one\ntwo", "b="});
  // A pipe, which somebody would have to write to, is no file.
  const std::string pipe = folder / "pipe";
  mkfifo(pipe.c_str(), 0600);
  for (const Tensor& reader : {whole_file_reader(), text_line_reader(), tf_record_reader()}) {
    const All all = all_of(reader, {pipe});
    BOOST_TEST(all.error.starts_with("InvalidArgument: cannot read file '"), all.error);
  }
  expect_error_begins([&] { initialize_table_from_text_file(hash_table(kString, kInt64), pipe, -2, -1); },
                      "InvalidArgument: cannot read file '");
  const All missing = all_of(whole_file_reader(), {folder / "none"});
  BOOST_TEST(missing.error.starts_with("NotFound: cannot open file '"), missing.error);
}

void lines() {
  const TestFolder folder;
  write_file(folder / "a", "one\r\n\ntwo");
  write_file(folder / "b", "");
  write_file(folder / "c", "x\ny\r\nz\n");
  const std::vector<std::string> names = {folder / "a", folder / "b", folder / "c"};
  const Tensor reader = text_line_reader();
  expect_records(all_of(reader, names, folder / ""), {"a:1=one", "a:2=", "a:3=two", "c:1=x", "c:2=y", "c:3=z"});
  BOOST_TEST(produced(reader) == 6);
  BOOST_TEST(completed(reader) == 3);
  expect_records(all_of(text_line_reader({.skip_header_lines = 2}), names, folder / ""), {"a:3=two", "c:3=z"});
}

std::string compressed(const std::string& bytes, int window_bits) {
  z_stream z{};
  deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY);
  std::string out(bytes.size() + 100, '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  z.avail_in = static_cast<uInt>(bytes.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  deflate(&z, Z_FINISH);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

void of_one_length() {
  const TestFolder folder;
  const std::string bytes = "HHabcdefghFF";
  write_file(folder / "plain", bytes);
  write_file(folder / "gzip", compressed(bytes, MAX_WBITS + 16));
  write_file(folder / "zlib", compressed(bytes, MAX_WBITS));
  const auto read = [&](const std::string& name, const FixedLengthRecordReaderAttrs& attrs) {
    return all_of(fixed_length_record_reader(3, attrs), {folder / name}, folder / "");
  };
  expect_records(read("plain", {.header_bytes = 2, .footer_bytes = 2}), {"plain:0=abc", "plain:1=def"});
  expect_records(read("gzip", {.header_bytes = 2, .footer_bytes = 2, .hop_bytes = 2, .encoding = "GZIP"}),
                 {"gzip:0=abc", "gzip:1=cde", "gzip:2=efg"});
  expect_records(read("zlib", {.header_bytes = 2, .footer_bytes = 2, .hop_bytes = 5, .encoding = "ZLIB"}),
                 {"zlib:0=abc", "zlib:1=fgh"});
  BOOST_TEST(read("plain", {.header_bytes = 20}).error.starts_with("OutOfRange: file '"));
  const All damaged = read("plain", {.encoding = "GZIP"});
  BOOST_TEST(damaged.error.starts_with("DataLoss: file '"), damaged.error);
  write_file(folder / "short", compressed(bytes, MAX_WBITS).substr(0, 10));
  BOOST_TEST(read("short", {.encoding = "ZLIB"}).error.starts_with("DataLoss: file '"));
  expect_error_begins([] { fixed_length_record_reader(0); },
                      "InvalidArgument: record_bytes: expected 1 to 2147483648, got 0");
  expect_error_begins([] { fixed_length_record_reader(1, {.encoding = "BZIP"}); },
                      "InvalidArgument: compression: expected \"\", \"ZLIB\" or \"GZIP\", got \"BZIP\"");
}

void of_record_files() {
  const TestFolder folder;
  for (const char* compression : {"", "ZLIB", "GZIP"}) {
    const std::string name = std::string("records") + compression;
    RecordWriter writer(folder / name, compression_named(compression));
    writer.write("one");
    writer.write("");
    writer.write("three");
    writer.close();
    expect_records(all_of(tf_record_reader({.compression_type = compression}), {folder / name}, folder / ""),
                   {name + ":0=one", name + ":19=", name + ":35=three"});
  }
  std::string bytes = read_file(folder / "records");
  bytes[13] ^= 1;
  write_file(folder / "damaged", bytes);
  const Tensor reader = tf_record_reader();
  const Tensor queue = queue_of_names({folder / "damaged", folder / "records"});
  // Again and again, until somebody resets the reader.
  for (int i = 0; i < 2; ++i) expect_error_begins([&] { reader_read(reader, queue); }, "DataLoss: file '");
  reader_reset(reader);
  BOOST_TEST(reader_read(reader, queue).value.item<std::string>() == "one");
}

void several_at_a_time() {
  const TestFolder folder;
  write_file(folder / "a", "1\n2\n3\n");
  write_file(folder / "b", "4\n");
  const Tensor reader = text_line_reader();
  const Tensor queue = queue_of_names({folder / "a", folder / "b"});
  const auto values = [&](int64_t count) { return reader_read_up_to(reader, queue, tensor(count)).values.to_string(); };
  BOOST_TEST(values(0) == "[]");
  BOOST_TEST(values(2) == "[b'1' b'2']");
  BOOST_TEST(values(5) == "[b'3']");  // of one file
  BOOST_TEST(completed(reader) == 1);
  BOOST_TEST(values(5) == "[b'4']");
  expect_error_begins([&] { values(1); }, "OutOfRange: queue: ");
  expect_error_begins([&] { values(-1); }, "InvalidArgument: num_records: expected at least 0, got -1");
  BOOST_TEST(produced(reader) == 4);
}

void states() {
  const Tensor reader = identity_reader();
  all_of(reader, {"a", "bc"});
  const std::string state = reader_serialize_state(reader).item<std::string>();
  BOOST_TEST(state == std::string("\x08\x02\x10\x02\x18\x02\x22\x02"
                                  "bc"));
  const Tensor other = identity_reader();
  reader_restore_state(other, tensor(state));
  BOOST_TEST(produced(other) == 2);
  BOOST_TEST(reader_serialize_state(other).item<std::string>() == state);
  reader_reset(other);
  BOOST_TEST(produced(other) == 0);
  BOOST_TEST(reader_serialize_state(other).item<std::string>().empty());
  reader_restore_state(other, tensor(state));
  expect_error_begins([&] { reader_restore_state(other, tensor(std::string("\x08"))); },
                      "InvalidArgument: state: expected a ReaderBaseState, got the end of it, 1 bytes early");
  BOOST_TEST(produced(other) == 0);  // reset
  expect_error_begins([&] { reader_restore_state(other, tensor(std::string("\x08\x02\x10\x01"))); },
                      "InvalidArgument: state: expected one between pieces of work, got 2 begun and 1 ended");
  expect_error_begins([&] { reader_restore_state(other, tensor(std::string("\x0b"))); },
                      "InvalidArgument: state: expected a ReaderBaseState, got a field of type 3");
  const Tensor in_lines = text_line_reader();
  expect_error_begins([&] { reader_serialize_state(in_lines); },
                      "Unimplemented: reader: expected one whose state can be saved, got a TextLineReader");
  expect_error_begins([&] { reader_restore_state(in_lines, tensor(state)); }, "Unimplemented: ");
}

void what_does_not_fit() {
  const Tensor reader = identity_reader();
  expect_error_begins([&] { reader_read(reader, fifo_queue({kFloat32})); },
                      "InvalidArgument: queue: expected one whose elements are single strings, got another");
  const Tensor vectors = fifo_queue({kString});
  queue_enqueue(vectors, {tensor({"a", "b"})});
  expect_error_begins([&] { reader_read(reader, vectors); },
                      "InvalidArgument: queue: expected one name in an element, got 2");
  expect_error_begins([&] { reader_read(vectors, vectors); },
                      "InvalidArgument: reader: expected a handle of a reader, got a FIFOQueue named \"\"");
  const auto shared = [](int64_t skip) {
    return text_line_reader({.skip_header_lines = skip, .shared_name = "readers_shared"});
  };
  shared(1);
  expect_error_begins([&] { shared(2); },
                      "InvalidArgument: reader \"readers_shared\": expected it as it was declared before, "
                      "TextLineReader(skip_header_lines=1), got TextLineReader(skip_header_lines=2)");
}

// Who runs graphs of strangers may keep them from opening files.
void files_may_be_refused() {
  const TestFolder folder;
  write_file(folder / "a", "1\n");
  const struct Allowed {
    Allowed() { allow_graph_files(false); }
    ~Allowed() { allow_graph_files(true); }
  } refused;
  for (const Tensor& reader :
       {whole_file_reader(), text_line_reader(), fixed_length_record_reader(1), tf_record_reader()}) {
    const All all = all_of(reader, {folder / "a"});
    BOOST_TEST(all.error.starts_with("PermissionDenied: file '"), all.error);
  }
  expect_records(all_of(identity_reader(), {"a"}), {"a=a"});  // opens none
  expect_error_begins([&] { initialize_table_from_text_file(hash_table(kString, kInt64), folder / "a", -2, -1); },
                      "PermissionDenied: file '");
}

void in_saved_graphs() {
  const TestFolder folder;
  write_file(folder / "a", "x\ny\n");
  RecordWriter writer(folder / "records");
  writer.write("record");
  writer.close();
  const auto build = [&] {
    const Tensor names = named("names", fifo_queue({kString}, {.shapes = {Shape{}}}));
    const auto operation = [](const std::string& name, const auto& add) {
      const CollectEffects effects;
      add();
      group(effects.operations(), name);
    };
    operation("put", [&] { queue_enqueue_many(names, {tensor({folder / "a", folder / "a"})}); });
    operation("put_records", [&] { queue_enqueue(names, {tensor(folder / "records")}); });
    const Tensor reader = named("lines", text_line_reader());
    const auto [key, value] = reader_read(reader, names);
    BOOST_TEST(value.partial_shape().to_string() == "[]");
    named("line", identity(value));
    const auto many = reader_read_up_to(reader, names, tensor(int64_t{9}));
    BOOST_TEST(many.values.partial_shape().to_string() == "[?]");
    named("many", identity(many.values));
    named("produced", reader_num_records_produced(reader));
    named("completed", reader_num_work_units_completed(reader));
    operation("reset", [&] { reader_reset(reader); });
    const Tensor whole = named("whole", whole_file_reader());
    named("all", identity(reader_read(whole, names).value));
    named("state", reader_serialize_state(whole));
    operation("restore", [&] { reader_restore_state(whole, tensor("")); });
    named("byte", identity(reader_read(fixed_length_record_reader(1), names).value));
    named("name", identity(reader_read(identity_reader(), names).value));
    named("record", identity(reader_read(tf_record_reader(), names).value));
  };
  for (const Graph& graph : saved_and_loaded(build)) {
    Session session(graph);
    session.run("put");
    BOOST_TEST(session.run("line").item<std::string>() == "x");
    BOOST_TEST(session.run("many").to_string() == "[b'y']");
    BOOST_TEST(session.run("produced").item<int64_t>() == 2);
    BOOST_TEST(session.run("completed").item<int64_t>() == 1);
    session.run("reset");
    BOOST_TEST(session.run("produced").item<int64_t>() == 0);
    BOOST_TEST(session.run("all").item<std::string>() == "x\ny\n");
    BOOST_TEST(!session.run("state").item<std::string>().empty());
    session.run("restore");
    BOOST_TEST(session.run("state").item<std::string>().empty());
    session.run("put");
    BOOST_TEST(session.run("byte").item<std::string>() == "x");
    BOOST_TEST(session.run("name").item<std::string>() == folder / "a");
    session.run("put_records");
    BOOST_TEST(session.run("record").item<std::string>() == "record");
  }
}

const OwnTest kSaved{"saved", in_saved_graphs};

const Family readers("readers",
                     {
                         {"IdentityReaderV2", {.own = {{"names", names_themselves}, kSaved}}},
                         {"WholeFileReaderV2", {.own = {{"files", whole_files}, kSaved}}},
                         {"TextLineReaderV2", {.own = {{"lines", lines}, kSaved}}},
                         {"FixedLengthRecordReaderV2", {.own = {{"length", of_one_length}, kSaved}}},
                         {"TFRecordReaderV2", {.own = {{"records", of_record_files}, kSaved}}},
                         {"ReaderReadV2",
                          {.own = {{"refused", what_does_not_fit}, {"files", files_may_be_refused}, kSaved}}},
                         {"ReaderReadUpToV2", {.own = {{"several", several_at_a_time}, kSaved}}},
                         {"ReaderNumRecordsProducedV2", {.own = {{"lines", lines}, kSaved}}},
                         {"ReaderNumWorkUnitsCompletedV2", {.own = {{"lines", lines}, kSaved}}},
                         {"ReaderSerializeStateV2", {.own = {{"states", states}, kSaved}}},
                         {"ReaderRestoreStateV2", {.own = {{"states", states}, kSaved}}},
                         {"ReaderResetV2", {.own = {{"states", states}, kSaved}}},
                     });

}  // namespace
}  // namespace panto::test::readers_rows
