#include "panto/lib/core/collections/reader.h"

#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/base/varint.h"
#include "panto/lib/core/collections/handle.h"

namespace panto {
namespace {

// ---- ReaderBaseState, a protocol buffer: three numbers and the name of the work ------------------------------------

enum Field : uint32_t { kWorkStarted = 1, kWorkFinished = 2, kRecordsProduced = 3, kCurrentWork = 4 };
enum WireType : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// Fields with default values are not written.
void put_number(std::string& to, Field field, int64_t value) {
  if (value == 0) return;
  append_varint(to, field << 3 | kVarint);
  append_varint(to, static_cast<uint64_t>(value));
}

class ProtoReader {
 public:
  explicit ProtoReader(std::string_view bytes) : rest_(bytes) {}
  bool at_end() const { return rest_.empty(); }

  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<uint8_t>(bytes(1)[0]);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    invalid("state: expected a ReaderBaseState, got a number that does not end");
  }
  std::string_view bytes(uint64_t count) {
    if (count > rest_.size()) {
      invalid("state: expected a ReaderBaseState, got the end of it, {} bytes early", count - rest_.size());
    }
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  void skip(uint64_t wire_type) {
    switch (wire_type) {
      case kVarint: varint(); return;
      case kFixed64: bytes(8); return;
      case kBytes: bytes(varint()); return;
      case kFixed32: bytes(4); return;
      default: invalid("state: expected a ReaderBaseState, got a field of type {}", wire_type);
    }
  }

 private:
  std::string_view rest_;
};

}  // namespace

Reader::Reader(std::string container, std::string name, std::string made_as, bool keeps_state)
    : Resource(std::move(container), std::move(name)), made_as_(std::move(made_as)), keeps_state_(keeps_state) {}
Reader::~Reader() = default;

int64_t Reader::records_produced() const {
  const std::lock_guard lock(mutex_);
  return produced_;
}

int64_t Reader::work_units_completed() const {
  const std::lock_guard lock(mutex_);
  return finished_;
}

void Reader::begin(const std::string& work) {
  const std::lock_guard lock(mutex_);
  work_ = work;
  broken_ = nullptr;
  start(work);
  ++started_;
}

bool Reader::read(int64_t most, std::vector<Record>& records) {
  const std::lock_guard lock(mutex_);
  while (static_cast<int64_t>(records.size()) < most) {
    if (started_ == finished_) return false;
    if (broken_) std::rethrow_exception(broken_);
    Record record;
    bool at_end = false;
    try {
      if (next(record, at_end)) {
        records.push_back(std::move(record));
        ++produced_;
      } else {
        at_end = true;
      }
    } catch (...) {
      broken_ = std::current_exception();
      throw;
    }
    if (!at_end) continue;
    stop();
    finished_ = started_;
    if (!records.empty()) break;
  }
  return true;
}

void Reader::forget_all() noexcept {
  stop();
  work_.clear();
  broken_ = nullptr;
  started_ = finished_ = produced_ = 0;
}

void Reader::reset() {
  const std::lock_guard lock(mutex_);
  forget_all();
}

std::string Reader::state() const {
  if (!keeps_state_) failf(Code::kUnimplemented, "reader: expected one whose state can be saved, got a {}", kind());
  const std::lock_guard lock(mutex_);
  std::string bytes;
  put_number(bytes, kWorkStarted, started_);
  put_number(bytes, kWorkFinished, finished_);
  put_number(bytes, kRecordsProduced, produced_);
  if (!work_.empty()) {
    append_varint(bytes, kCurrentWork << 3 | kBytes);
    append_varint(bytes, work_.size());
    bytes += work_;
  }
  return bytes;
}

void Reader::set_state(std::string_view state) {
  const std::lock_guard lock(mutex_);
  forget_all();
  if (!keeps_state_) failf(Code::kUnimplemented, "reader: expected one whose state can be restored, got a {}", kind());
  int64_t started = 0, finished = 0, produced = 0;
  std::string current;
  for (ProtoReader proto(state); !proto.at_end();) {
    const uint64_t tag = proto.varint();
    const uint64_t field = tag >> 3, type = tag & 7;
    if (field == kWorkStarted && type == kVarint) {
      started = static_cast<int64_t>(proto.varint());
    } else if (field == kWorkFinished && type == kVarint) {
      finished = static_cast<int64_t>(proto.varint());
    } else if (field == kRecordsProduced && type == kVarint) {
      produced = static_cast<int64_t>(proto.varint());
    } else if (field == kCurrentWork && type == kBytes) {
      current = proto.bytes(proto.varint());
    } else {
      proto.skip(type);
    }
  }
  if (started < 0 || finished < 0 || produced < 0) {
    invalid("state: expected counts of at least 0, got {}, {} and {}", started, finished, produced);
  }
  if (started > finished) {
    invalid("state: expected one between pieces of work, got {} begun and {} ended", started, finished);
  }
  // A file may say that more work was finished than started: then none is in progress.
  started_ = finished_ = finished;
  produced_ = produced;
  work_ = std::move(current);
}

void Reader::give_back(std::string work) {
  const std::lock_guard lock(mutex_);
  given_back_.push_back(std::move(work));
}

bool Reader::take_back(std::string& work) {
  const std::lock_guard lock(mutex_);
  if (given_back_.empty()) return false;
  work = std::move(given_back_.back());
  given_back_.pop_back();
  return true;
}

std::shared_ptr<Reader> reader_of(const Tensor& handle) { return resource_as<Reader>(handle, "reader"); }

}  // namespace panto
