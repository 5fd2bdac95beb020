// Reader: the resource that the ops Reader... read records from. Its callers name one work unit (a file) after the
// other; they take the names from a queue.
//
//   reader->begin("words.txt");
//   std::vector<Reader::Record> records;
//   while (!reader->read(10, records)) reader->begin(next_name());   // up to ten, of one piece of work
//
// Thread-safe. A read that begins new work in between consists of several calls, which `line` and `busy` keep in order.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/collections/waiting_line.h"
#include "panto/lib/core/tensor/resource.h"

namespace panto {

class PANTO_EXPORT Reader : public Resource {
 public:
  struct Record {
    std::string key, value;
  };

  // `made_as`: kind and attributes; a second op that uses the same name must give the same. `keeps_state`: between work
  // units the counts are the whole state, so that it can be saved.
  Reader(std::string container, std::string name, std::string made_as, bool keeps_state);
  ~Reader() override;

  const std::string& made_as() const noexcept { return made_as_; }
  int64_t records_produced() const;
  int64_t work_units_completed() const;

  // Begins this work unit. If that fails, no work is in progress.
  void begin(const std::string& work);
  // Appends records to `records` until there are `most`, or until the work unit ends and there is at least one. Returns
  // false if no work is in progress and no record was found.
  bool read(int64_t most, std::vector<Record>& records);
  // Returns to the state before the first read.
  void reset();
  // The counts, in TensorFlow's ReaderBaseState format. Throw Unimplemented if the counts are not the whole state.
  std::string state() const;
  // If it fails, the reader is reset.
  void set_state(std::string_view state);

  // Calls that read wait in this line for their turn. The call whose turn it is sets `busy`, under the line's lock.
  WaitingLine& line() noexcept { return line_; }
  bool busy = false;
  // Returns work that was taken from the queue for a call that no longer exists. The next call begins with it.
  void give_back(std::string work);
  // Returns false if there is none.
  bool take_back(std::string& work);

 protected:
  // Opens the work unit.
  virtual void start(const std::string& work) = 0;
  // Reads its next record. `at_end` is set if the record is the last one. Returns false if there was none.
  virtual bool next(Record& record, bool& at_end) = 0;
  // Closes the work unit.
  virtual void stop() noexcept = 0;
  // The work unit in progress.
  const std::string& work() const noexcept { return work_; }

 private:
  void forget_all() noexcept;

  std::string made_as_;
  bool keeps_state_;
  WaitingLine line_{WaitingLine::Order::kFirstComeFirstServed};
  mutable std::mutex mutex_;
  std::string work_;
  int64_t started_ = 0, finished_ = 0, produced_ = 0;
  std::exception_ptr broken_;  // the error of reading the work unit; thrown again by every later read
  std::vector<std::string> given_back_;
};

// The reader that scalar resource tensor `handle` refers to. Throws InvalidArgument for anything else.
PANTO_EXPORT std::shared_ptr<Reader> reader_of(const Tensor& handle);

}  // namespace panto
