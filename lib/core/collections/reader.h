// Reader: what a resource tensor refers to that the ops Reader... ask for records. What it reads is named, one piece of
// work after the other, by whoever asks: they take the names out of a queue.
//
//   reader->begin("words.txt");
//   std::vector<Reader::Record> records;
//   while (!reader->read(10, records)) reader->begin(next_name());   // up to ten, of one piece of work
//
// Thread-safe; but a read that begins work in between is one of several calls: `line` and `busy` order these.
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

  // `made_as`: kind and attributes, which who names it again must say, too. `keeps_state`: between pieces of work the
  // counts are all there is to save.
  Reader(std::string container, std::string name, std::string made_as, bool keeps_state);
  ~Reader() override;

  const std::string& made_as() const noexcept { return made_as_; }
  int64_t records_produced() const;
  int64_t work_units_completed() const;

  // Begins with this work. Where that fails, none is in progress.
  void begin(const std::string& work);
  // Adds records to `records` until there are `most`, or until there are some and the work ends. False where no work is
  // in progress and none was found.
  bool read(int64_t most, std::vector<Record>& records);
  // Nothing was read yet.
  void reset();
  // The counts, as TensorFlow's ReaderBaseState spells them. Throw Unimplemented where that does not say all there is.
  std::string state() const;
  // Where it fails, the reader is reset.
  void set_state(std::string_view state);

  // Calls that read wait in it for their turn: whose turn it is sets `busy`, under its lock.
  WaitingLine& line() noexcept { return line_; }
  bool busy = false;
  // Work that was taken for a call that is not there any more: the next one begins with it.
  void give_back(std::string work);
  // False if there is none.
  bool take_back(std::string& work);

 protected:
  // Opens `work`.
  virtual void start(const std::string& work) = 0;
  // The next record of it. `at_end`: there is none after it. False: there was none either.
  virtual bool next(Record& record, bool& at_end) = 0;
  // Closes it.
  virtual void stop() noexcept = 0;
  // Of what is in progress.
  const std::string& work() const noexcept { return work_; }

 private:
  void forget_all() noexcept;

  std::string made_as_;
  bool keeps_state_;
  WaitingLine line_{WaitingLine::Order::kFirstComeFirstServed};
  mutable std::mutex mutex_;
  std::string work_;
  int64_t started_ = 0, finished_ = 0, produced_ = 0;
  std::exception_ptr broken_;  // what reading the work came to, again and again
  std::vector<std::string> given_back_;
};

// The reader that scalar resource tensor `handle` refers to. Throws InvalidArgument for anything else.
PANTO_EXPORT std::shared_ptr<Reader> reader_of(const Tensor& handle);

}  // namespace panto
