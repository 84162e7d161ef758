// SPDX-License-Identifier: Apache-2.0
// Writes a play, for runs without a text file. A model can learn its letters, its names, and who does what.
#include <array>
#include <string_view>

#include "shoal/base/random.h"
#include "text.h"

namespace text {
namespace {

class Author {
 public:
  explicit Author(uint64_t seed) : random_(shoal::fold_in(seed, "play")) {}

  /// Writes one speech: the speaker, one to three sentences, an empty line.
  std::string speech() {
    std::string result = std::string(choose(kSpeakers)) + ":\n";
    for (uint64_t sentences = 1 + random_.below(3); sentences > 0; --sentences) {
      std::string line = sentence();
      line[0] = char(line[0] - 'a' + 'A');
      result += line + "\n";
    }
    return result + "\n";
  }

 private:
  template <size_t kCount>
  std::string_view choose(const std::array<std::string_view, kCount>& words) {
    return words[size_t(random_.below(kCount))];
  }

  std::string thing() {
    std::string result = "the ";
    if (random_.below(2) == 0) result += std::string(choose(kAdjectives)) + " ";
    return result + std::string(choose(kNouns));
  }

  /// Writes a clause. The verb ends in s if the subject is singular, as in "the boat turns the net".
  std::string clause() {
    const bool several = random_.below(3) == 0;
    return thing() + (several ? "s " : " ") + std::string(choose(kVerbs)) + (several ? " " : "s ") + thing();
  }

  std::string sentence() {
    switch (random_.below(4)) {
      case 0: return "when " + clause() + ", " + clause() + ".";
      case 1: return "who knows why " + clause() + "?";
      case 2: return clause() + ", and " + clause() + ".";
      default: return clause() + (random_.below(5) == 0 ? "!" : ".");
    }
  }

  static constexpr std::array<std::string_view, 8> kSpeakers{"ADMIRAL", "BAKER",  "CAPTAIN", "DUCHESS",
                                                             "FISHER",  "KEEPER", "PILOT",   "STRANGER"};
  static constexpr std::array<std::string_view, 16> kNouns{"anchor", "boat",   "captain", "harbour", "island", "lantern",
                                                           "letter", "mirror", "net",     "oar",     "river",  "sailor",
                                                           "shadow", "storm",  "tide",    "wind"};
  static constexpr std::array<std::string_view, 12> kVerbs{"answer", "call", "cover", "find",   "follow", "hold",
                                                           "know",   "lead", "need",  "reward", "turn",   "want"};
  static constexpr std::array<std::string_view, 12> kAdjectives{"brave", "cold",  "dark",   "early", "gentle", "grey",
                                                                "last",  "quiet", "silver", "small", "old",    "wild"};
  shoal::RandomStream random_;
};

}  // namespace

std::string generate_play(size_t size, uint64_t seed) {
  Author author(seed);
  std::string play;
  while (play.size() < size) play += author.speech();
  return play;
}

}  // namespace text
