// A file system of which every change is noted: what a folder may look like when the power fails.
//
//   model_files::Recording recording(folder);
//   saver.save(1);
//   recording.acknowledge(1);
//   for (const Crash& crash : crashes(recording.changes())) { build(crash, other_folder); ... }
//
// The calls that make, write, rename, remove and synchronize files are this program's own (model_files.cc) before they
// are the C library's. What was not synchronized may be lost, in any combination: an entry of a folder, a name given or
// removed; of a file's bytes all, some of its blocks of 512, or what is in the blocks though the size is right.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace panto::model_files {

struct Change {
  enum class Kind : uint8_t { kMake, kWrite, kCut, kRename, kRemove, kSyncFile, kSyncFolder, kAcknowledge };
  Kind kind;
  int file = -1;          // made, written, cut, synchronized
  std::string name = {};  // made, removed, renamed from
  std::string to = {};    // renamed to
  uint64_t offset = 0;    // of what is written; the size to which it is cut
  std::string bytes = {};
  int64_t step = -1;  // acknowledged
};

// Notes what this process does in the folder, and below it nothing. One at a time.
class Recording {
 public:
  explicit Recording(const std::string& folder);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  void acknowledge(int64_t step);
  std::vector<Change> changes() const;
};

// While one lives, the call with this number (from 0 on) of those that change files in the folder, or, `on`, all from
// it on, fail with `error`; a write writes half before.
class Failing {
 public:
  Failing(const std::string& folder, int number, bool on, int error);
  ~Failing();
  Failing(const Failing&) = delete;
  Failing& operator=(const Failing&) = delete;
  bool happened() const;
};

// What a folder may be after a crash: its files by name.
struct Crash {
  int64_t acknowledged = -1;  // the newest step before it
  std::map<std::string, std::string> files;
};
// Those that differ, for crashes behind every change.
std::vector<Crash> crashes(const std::vector<Change>& changes);

}  // namespace panto::model_files
