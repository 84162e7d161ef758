// SPDX-License-Identifier: Apache-2.0
// Preloaded into a process (LD_PRELOAD), this library turns its clock on the wall by as many seconds as the file says that
// SHOAL_TEST_CLOCK_FILE names: from the next look at the clock on. A missing file turns nothing. The steady clock goes on as it is.
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

namespace {

time_t seconds_ahead() {
  const char* path = std::getenv("SHOAL_TEST_CLOCK_FILE");
  const int file = path ? int(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0)) : -1;
  if (file < 0) return 0;
  char text[32] = {};
  const long got = syscall(SYS_read, file, text, sizeof text - 1);
  syscall(SYS_close, file);
  return got > 0 ? time_t(std::atoll(text)) : 0;
}

timespec wall_now() {
  timespec now{};
  syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
  now.tv_sec += seconds_ahead();
  return now;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE) return int(syscall(SYS_clock_gettime, clock, now));
  *now = wall_now();
  return 0;
}

int gettimeofday(timeval* now, void*) noexcept {
  const timespec time = wall_now();
  now->tv_sec = time.tv_sec;
  now->tv_usec = time.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* now) noexcept {
  const time_t seconds = wall_now().tv_sec;
  if (now) *now = seconds;
  return seconds;
}

}  // extern "C"
