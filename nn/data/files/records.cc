// Lines and records of files.
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/io/record_file.h"
#include "panto/lib/core/step/cancel.h"
#include "panto/nn/data/files/file_stages.h"

namespace panto::data {
namespace {

Element of_text(std::string text) { return Element(tensor(std::move(text))); }

// Continues at byte `offset`. Throws DataLoss for a file that ends before it.
void skip_to(InputStream& stream, uint64_t offset) {
  if (offset > stream.position()) stream.skip(offset - stream.position());
  if (stream.position() == offset) return;
  failf(Code::kDataLoss, "file '{}': expected byte {}, where a state says that it was read to, got {}", stream.path(),
        offset, stream.position());
}

class Lines {
 public:
  using Options = LineOptions;
  Lines(const std::string& path, const Options& options) : stream_(path, options.compression) {
    std::string line;
    for (int64_t i = 0; i < options.skip_lines && stream_.read_line(line); ++i) throw_if_cancelled();
  }
  bool read(Element& element) {
    std::string line;
    if (!stream_.read_line(line)) return false;
    element = of_text(std::move(line));
    return true;
  }
  void save(StateWriter& to) const { to.number(stream_.position()); }
  void restore(StateReader& from) { skip_to(stream_, from.number()); }

 private:
  InputStream stream_;
};

class Records {
 public:
  struct Options {
    Compression compression;
    std::shared_ptr<const BadInputs> bad;
  };
  Records(const std::string& path, const Options& options) : reader_(path, options.compression), bad_(options.bad) {}
  bool read(Element& element) {
    constexpr uint64_t kHeadBytes = 12;  // of a record: its length and the length's checksum
    while (!lost_) {
      const uint64_t begin = reader_.offset();
      try {
        std::string record;
        if (!reader_.read(record)) return false;
        element = of_text(std::move(record));
        return true;
      } catch (const Error& error) {
        if (!bad_->left_out(error)) throw;
        // The next record can be found only by this one's length; and after a decompression error nothing follows.
        lost_ = reader_.offset() <= begin + kHeadBytes;
      }
      throw_if_cancelled();
    }
    return false;
  }
  void save(StateWriter& to) const {
    to.number(reader_.offset());
    to.flag(lost_);
  }
  void restore(StateReader& from) {
    const uint64_t offset = from.number();
    lost_ = from.flag();
    if (!lost_) reader_.skip_to(offset);
  }

 private:
  RecordReader reader_;
  std::shared_ptr<const BadInputs> bad_;
  bool lost_ = false;  // the rest of the file cannot be read
};

class FixedRecords {
 public:
  struct Options {
    uint64_t header, record, footer;
    Compression compression;
  };
  FixedRecords(const std::string& path, const Options& options)
      : stream_(path, options.compression), options_(options) {
    if (const uint64_t skipped = stream_.skip(options.header); skipped != options.header) {
      failf(Code::kDataLoss, "file '{}': expected a header of {} bytes, got {}", path, options.header, skipped);
    }
  }
  bool read(Element& element) {
    std::string more;
    stream_.read(options_.record + options_.footer - ahead_.size(), more);
    ahead_ += more;
    if (ahead_.size() == options_.footer) return false;
    if (ahead_.size() < options_.record + options_.footer) {
      failf(Code::kDataLoss, "file '{}': expected {} bytes of the record at byte {} and a footer of {}, got {}",
            stream_.path(), options_.record, offset(), options_.footer, ahead_.size());
    }
    element = of_text(ahead_.substr(0, options_.record));
    ahead_.erase(0, options_.record);
    return true;
  }
  void save(StateWriter& to) const { to.number(offset()); }
  void restore(StateReader& from) { skip_to(stream_, from.number()); }

 private:
  uint64_t offset() const { return stream_.position() - ahead_.size(); }

  InputStream stream_;
  Options options_;
  std::string ahead_;  // bytes that may belong to the footer
};

}  // namespace

StagePtr lines(std::vector<std::string> files, const LineOptions& options) {
  return std::make_shared<Files<Lines>>("from_lines", std::move(files), options);
}
StagePtr records(std::vector<std::string> files, const RecordOptions& options) {
  return std::make_shared<Files<Records>>(
      "from_tfrecord", std::move(files),
      Records::Options{options.compression,
                       std::make_shared<const BadInputs>("from_tfrecord", options.skip_bad, options.on_bad)});
}
StagePtr fixed_records(std::vector<std::string> files, int64_t bytes, const FixedRecordOptions& options) {
  return std::make_shared<Files<FixedRecords>>(
      "from_fixed_records", std::move(files),
      FixedRecords::Options{static_cast<uint64_t>(options.header_bytes), static_cast<uint64_t>(bytes),
                            static_cast<uint64_t>(options.footer_bytes), options.compression});
}

}  // namespace panto::data
