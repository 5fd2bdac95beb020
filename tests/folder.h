// A folder of its own for a test, removed with all that is in it.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace panto {

class TestFolder {
 public:
  TestFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "panto-test-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp");
    path_ = pattern;
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all, ignored);
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  const std::filesystem::path& path() const { return path_; }
  // Names in it: to see that nothing was left behind.
  size_t files() const {
    size_t n = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path_)) ++n;
    return n;
  }

 private:
  std::filesystem::path path_;
};

// While it lives, the process is an ordinary user, for whom files may be forbidden: root may do everything. To be made
// before the test's folder.
class OrdinaryUser {
 public:
  OrdinaryUser() : was_root_(geteuid() == 0) {
    constexpr uid_t kNobody = 65534;
    if (was_root_ && setresuid(kNobody, kNobody, 0) != 0) forbidden_ = true;
  }
  ~OrdinaryUser() {
    if (was_root_ && !forbidden_ && setresuid(0, 0, 0) != 0) std::abort();  // nothing after it would be as it should
  }
  OrdinaryUser(const OrdinaryUser&) = delete;
  OrdinaryUser& operator=(const OrdinaryUser&) = delete;

  // Says so where it is root and cannot be another: the test would find nothing.
  bool skips(const char* what) const {
    if (forbidden_) std::printf("not tested as root: %s\n", what);
    return forbidden_;
  }

 private:
  bool was_root_;
  bool forbidden_ = false;
};

}  // namespace panto
