#include "panto/lib/base/file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "panto/lib/core/io/npy.h"
#include "panto/lib/ops/create.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"

namespace panto {
namespace {

namespace fs = std::filesystem;

BOOST_AUTO_TEST_SUITE(file)

BOOST_AUTO_TEST_CASE(what_is_written_is_read) {
  const TestFolder folder;
  for (size_t size : {0, 1, 4095, 4096, 4097, 1000000}) {
    std::string bytes(size, '\0');
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 31);
    write_file(folder / "f", bytes);
    BOOST_TEST((read_file(folder / "f") == bytes));
  }
  BOOST_TEST(folder.files() == 1U);
}

BOOST_AUTO_TEST_CASE(missing_files) {
  const TestFolder folder;
  const std::string path = folder / "none";
  expect_error([&] { read_file(path); }, "NotFound: cannot open file '" + path + "': No such file or directory");
  expect_error([&] { write_file(path + "/x", "y"); },
               "NotFound: cannot write file '" + path + "/x': No such file or directory");
  expect_error([] { read_file(""); }, "NotFound: cannot open file '': No such file or directory");
  expect_error([] { write_file("", "y"); }, "NotFound: cannot write file '': No such file or directory");
}

BOOST_AUTO_TEST_CASE(folders) {
  const TestFolder folder;
  const std::string path = folder.path().string();
  expect_error([&] { read_file(path); }, "InvalidArgument: cannot read file '" + path + "': Is a directory");
  expect_error([&] { write_file(path, "x"); }, "InvalidArgument: cannot write file '" + path + "': Is a directory");
  expect_error([&] { write_file(folder / "no/", "x"); },
               "InvalidArgument: cannot write file '" + (folder / "no/") + "': Is a directory");
}

BOOST_AUTO_TEST_CASE(the_limit) {
  const TestFolder folder;
  write_file(folder / "f", "0123456789");
  BOOST_TEST(read_file(folder / "f", 10) == "0123456789");
  expect_error([&] { read_file(folder / "f", 9); },
               "ResourceExhausted: file '" + (folder / "f") + "': expected at most 9 bytes, got 10");
  // Such files tell no size, or no true one.
  BOOST_TEST(read_file("/proc/self/cmdline").size() > 0U);
}

BOOST_AUTO_TEST_CASE(a_huge_sparse_file_is_refused_before_memory_is_taken) {
  const TestFolder folder;
  write_file(folder / "f", "");
  fs::resize_file(folder / "f", uint64_t{1} << 40);
  expect_error_begins([&] { read_file(folder / "f"); }, "ResourceExhausted: file '");
}

BOOST_AUTO_TEST_CASE(parts_of_a_file) {
  const TestFolder folder;
  write_file(folder / "f", "0123456789");
  const RandomAccessFile file(folder / "f");
  BOOST_TEST(file.size() == 10U);
  char part[4] = {};
  file.read(7, part, 3);
  BOOST_TEST(std::string(part) == "789");
  file.read(0, part, 3);
  BOOST_TEST(std::string(part) == "012");
  file.read(10, part, 0);
  const std::string name = "file '" + (folder / "f") + "'";
  expect_error([&] { file.read(8, part, 3); }, "DataLoss: " + name + ": expected 1 more bytes, got its end");
  expect_error([&] { file.read(1000, part, 3); }, "DataLoss: " + name + ": expected 3 more bytes, got its end");
  expect_error([&] { RandomAccessFile(folder / "no"); },
               "NotFound: cannot open file '" + (folder / "no") + "': No such file or directory");
  expect_error([&] { RandomAccessFile(folder.path().string()); },
               "InvalidArgument: cannot read file '" + folder.path().string() + "': Is a directory");
  BOOST_REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  expect_error([&] { RandomAccessFile(folder / "pipe"); },
               "InvalidArgument: cannot read file '" + (folder / "pipe") + "': expected a file, got a pipe or device");
}

BOOST_AUTO_TEST_CASE(devices_have_no_end) {
  expect_error([] { read_file("/dev/zero"); },
               "InvalidArgument: cannot read file '/dev/zero': expected a file or a pipe, got a device");
  expect_error([] { read_file("/dev/null"); },
               "InvalidArgument: cannot read file '/dev/null': expected a file or a pipe, got a device");
}

BOOST_AUTO_TEST_CASE(pipes_are_read_up_to_a_limit) {
  const TestFolder folder;
  const std::string path = folder / "pipe";
  BOOST_REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  const auto through_pipe = [&](const std::string& bytes, uint64_t limit) {
    std::thread writer([&] {
      const int file = open(path.c_str(), O_WRONLY);
      size_t done = 0;
      while (done < bytes.size()) {
        const ssize_t put = write(file, bytes.data() + done, bytes.size() - done);
        if (put <= 0) break;  // nobody reads
        done += static_cast<size_t>(put);
      }
      close(file);
    });
    std::string result;
    try {
      result = read_file(path, limit);
    } catch (const Error& error) {
      result = error.what();
    }
    writer.join();
    return result;
  };
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  const std::string bytes(100000, 'x');
  BOOST_TEST((through_pipe(bytes, kMaxFileBytes) == bytes));
  BOOST_TEST(through_pipe(bytes, 99999) ==
             "ResourceExhausted: file '" + path + "': expected at most 99999 bytes, got more");
  std::signal(SIGPIPE, before);
}

BOOST_AUTO_TEST_CASE(names_that_lead_nowhere) {
  const TestFolder folder;
  const std::string loop = folder / "loop", far = folder / std::string(300, 'x');
  fs::create_symlink(loop, loop);
  for (const std::string& path : {loop, far}) {
    expect_error_begins([&] { read_file(path); }, "InvalidArgument: cannot open file '");
    expect_error_begins([&] { write_file(path + "/x", ""); }, "InvalidArgument: cannot write file '");
    BOOST_TEST(!is_folder(path));
  }
  BOOST_TEST(is_folder(folder.path().string()));
}

// `ulimit -f`: neither a signal that ends the process nor something left behind.
BOOST_AUTO_TEST_CASE(a_file_that_may_not_grow_is_an_error) {
  const TestFolder folder;
  write_file(folder / "f", "old");
  rlimit before{};
  BOOST_REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const rlimit small{.rlim_cur = 1000, .rlim_max = before.rlim_max};
  BOOST_REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  const std::string text = error_text([&] { write_file(folder / "f", std::string(100000, 'x')); });
  const std::string archive =
      error_text([&] { write_npz(folder / "g", std::vector<NamedTensor>{{"x", zeros({100000})}}); });
  setrlimit(RLIMIT_FSIZE, &before);
  BOOST_TEST(text == "ResourceExhausted: cannot write file '" + (folder / "f") + "': File too large");
  BOOST_TEST(archive.starts_with("ResourceExhausted: "), archive);
  BOOST_TEST(read_file(folder / "f") == "old");
  BOOST_TEST(folder.files() == 1u);
}

BOOST_AUTO_TEST_CASE(permissions) {
  const OrdinaryUser user;
  if (user.skips("permissions of files")) return;
  const TestFolder folder;
  write_file(folder / "f", "old");
  fs::permissions(folder / "f", fs::perms::owner_read);
  expect_error([&] { write_file(folder / "f", "new"); },
               "PermissionDenied: cannot write file '" + (folder / "f") + "': Permission denied");
  fs::permissions(folder / "f", fs::perms::none);
  expect_error([&] { read_file(folder / "f"); },
               "PermissionDenied: cannot open file '" + (folder / "f") + "': Permission denied");
  fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec);
  expect_error([&] { write_file(folder / "g", "new"); },
               "PermissionDenied: cannot write file '" + (folder / "g") + "': Permission denied");
}

BOOST_AUTO_TEST_CASE(a_file_that_is_not_finished_leaves_the_old_one) {
  const TestFolder folder;
  write_file(folder / "f", "old");
  {
    NewFile file(folder / "f");
    file.append("half");
    BOOST_TEST(folder.files() == 2U);
  }
  BOOST_TEST(read_file(folder / "f") == "old");
  BOOST_TEST(folder.files() == 1U);
}

BOOST_AUTO_TEST_CASE(readers_see_the_old_or_the_new_file) {
  const TestFolder folder;
  const std::string path = folder / "f";
  const std::string texts[] = {std::string(100000, 'a'), std::string(150000, 'b')};
  write_file(path, texts[0]);
  std::thread writer([&] {
    for (size_t i = 0; i < 50; ++i) write_file(path, texts[i % 2]);
  });
  bool whole = true;
  for (int i = 0; i < 200; ++i) {
    const std::string seen = read_file(path);
    whole = whole && (seen == texts[0] || seen == texts[1]);
  }
  writer.join();
  BOOST_TEST(whole);
}

BOOST_AUTO_TEST_CASE(links_and_modes_stay) {
  const TestFolder folder;
  write_file(folder / "f", "old");
  fs::permissions(folder / "f", fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read);
  fs::create_symlink("f", folder / "link");
  write_file(folder / "link", "new");
  BOOST_TEST(fs::is_symlink(folder / "link"));
  BOOST_TEST(read_file(folder / "f") == "new");
  struct stat info{};
  BOOST_TEST(stat((folder / "f").c_str(), &info) == 0);
  BOOST_TEST((info.st_mode & 07777) == 0640U);
}

BOOST_AUTO_TEST_CASE(files_of_killed_processes_are_removed) {
  const TestFolder folder;
  const pid_t gone = fork();
  if (gone == 0) _exit(0);
  BOOST_REQUIRE(waitpid(gone, nullptr, 0) == gone);
  const std::string old = folder / (".panto-" + std::to_string(gone) + "-3.tmp");
  const std::string young = folder / (".panto-" + std::to_string(gone) + "-4.tmp");
  const std::string ours = folder / (".panto-" + std::to_string(getpid()) + "-3.tmp");
  const std::string other = folder / (".panto-" + std::to_string(gone) + "-3.tmq");
  for (const std::string& path : {old, young, ours, other}) {
    write_file(path, "x");
    if (path != young) fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(25));
  }
  remove_abandoned_files(folder.path().string());
  remove_abandoned_files(folder / "none");
  BOOST_TEST(!fs::exists(old));
  for (const std::string& path : {young, ours, other}) BOOST_TEST(fs::exists(path), path);
}

BOOST_AUTO_TEST_CASE(a_growing_file) {
  const TestFolder folder;
  GrowingFile file(folder / "g");
  BOOST_TEST(read_file(folder / "g").empty());
  file.append("one");
  BOOST_TEST(read_file(folder / "g") == "one");
  file.append("two");
  file.sync();
  BOOST_TEST(read_file(folder / "g") == "onetwo");
  expect_error([&] { const GrowingFile again(folder / "g"); },
               "AlreadyExists: cannot make file '" + (folder / "g") + "': File exists");
}

BOOST_AUTO_TEST_CASE(devices_and_pipes_are_written_to) {
  write_file("/dev/null", "gone");
  BOOST_TEST(fs::is_character_file("/dev/null"));
  const TestFolder folder;
  BOOST_TEST(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  std::string got;
  std::thread reader([&] { got = read_file(folder / "pipe"); });
  write_file(folder / "pipe", std::string(100000, 'x'));
  reader.join();
  BOOST_TEST(got.size() == 100000U);
  BOOST_TEST(fs::is_fifo(folder / "pipe"));
}

BOOST_AUTO_TEST_CASE(a_full_disk) {
  expect_error([] { write_file("/dev/full", "x"); },
               "ResourceExhausted: cannot write file '/dev/full': No space left on device");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
