// The entry of every Boost.Test program here. Where PANTO_TEST_LOG names a file, each test case writes a line there
// when it starts and one when it ends, at once: the runner (tools/run_tests.py) counts these lines, so it can name the
// case that crashed and still knows how the ones before it went.

#define BOOST_TEST_MODULE panto
#include <fcntl.h>
#include <unistd.h>

#include <boost/test/results_collector.hpp>
#include <boost/test/tree/observer.hpp>
#include <boost/test/unit_test.hpp>
#include <boost/test/unit_test_log.hpp>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

namespace ut = boost::unit_test;

class CaseLog : public ut::test_observer {
 public:
  CaseLog() {
    if (const char* path = std::getenv("PANTO_TEST_LOG")) {
      file_ = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
      ut::framework::register_observer(*this);
    }
  }
  ~CaseLog() override {
    if (file_ >= 0) {
      ut::framework::deregister_observer(*this);
      close(file_);
    }
  }
  CaseLog(const CaseLog&) = delete;
  CaseLog& operator=(const CaseLog&) = delete;

  // After the collector of results (priority 3), whose verdict is written here.
  int priority() override { return 9; }

  void test_unit_start(const ut::test_unit& unit) override { put("start", unit); }
  void test_unit_finish(const ut::test_unit& unit, unsigned long) override {
    put(ut::results_collector.results(unit.p_id).passed() ? "pass" : "fail", unit);
  }
  void test_unit_skipped(const ut::test_unit& unit, ut::const_string reason) override {
    if (!unit.is_enabled()) return;  // it was not asked for
    std::string why(reason.begin(), reason.end());
    constexpr std::string_view kPrefix = "precondition failed: ";
    if (why.starts_with(kPrefix)) why.erase(0, kPrefix.size());
    put(unit.p_type == ut::TUT_CASE ? "skip" : "skip-suite", unit, ": " + why);
  }

 private:
  // Of a suite only that it was skipped.
  void put(const char* what, const ut::test_unit& unit, const std::string& more = "") {
    if (unit.p_type != ut::TUT_CASE && more.empty()) return;
    const std::string line = std::string(what) + ' ' + unit.full_name() + more + '\n';
    if (write(file_, line.data(), line.size()) < 0) std::_Exit(99);
  }

  int file_ = -1;
};

BOOST_TEST_GLOBAL_FIXTURE(CaseLog);

}  // namespace
