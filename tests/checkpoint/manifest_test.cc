// SPDX-License-Identifier: Apache-2.0
#include "shoal/checkpoint/manifest.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <random>

#include "fixture.h"

namespace shoal::checkpoint {
namespace {

using testing::fails_with;

Manifest example() {
  Manifest manifest;
  manifest.global_step = 200;
  manifest.info.counters = {{"dense/kernel", 200}, {"embedding", UINT64_MAX}};
  manifest.info.positions = {{"chief/0", std::string("\0\xff\x80 bytes", 9)}, {"worker/1", ""}};
  manifest.info.ended = {"worker/1"};
  manifest.info.numerics = "onednn 2.6.3 avx2 threads:1";
  manifest.info.fingerprint = "job \"7\"";
  manifest.info.meaning = R"({"facts":{"head":[]},"version":1})";
  manifest.info.rules = "{}";
  manifest.info.save_time = WallTime(Duration(1'700'000'000'123'456'789));
  manifest.files = {{"model.ckpt-200.data-00000-of-00002", 1024, 0x1111},
                    {"model.ckpt-200.data-00001-of-00002", 4096, ~0ull}};
  manifest.tensors = {
      {"bias", DType::kFloat32, {10}, "", {{0, 64, 40, 0, 10, 1}}},
      {"count", DType::kInt64, {}, "", {{0, 104, 8, 0, 1, 2}}},
      {"embedding", DType::kFloat32, {100, 4}, "", {{0, 112, 160, 0, 10, 3}, {1, 64, 1440, 10, 100, 4}}},
      {"embedding/momentum", DType::kBFloat16, {100, 4}, "embedding", {{1, 1504, 800, 0, 100, 5}}},
      {"empty", DType::kUInt8, {0, 7}, "", {{1, 64, 0, 0, 0, 6}}},
  };
  return manifest;
}

/// The same with a table of which later saves wrote the changes alone.
Manifest patched_example() {
  Manifest manifest = example();
  // Of the table's 90 rows of 16 bytes; then of units of 100 bytes, of which the last has 40.
  manifest.tensors[2].pieces[1].patches = {{0, 280, 2, 16, 32, 7, 8}, {0, 328, 3, 100, 240, 9, 10}};
  return manifest;
}

/// `text` with its body changed and its checksum made right again, as only an attacker or a bug would.
std::string reframed(const std::string& text, const std::function<void(std::string&)>& change) {
  const size_t begin = text.find("\"manifest\":\n") + 12;
  std::string body = text.substr(begin, text.size() - begin - 3);
  change(body);
  char checksum[17];
  std::snprintf(checksum, sizeof checksum, "%016llx",
                static_cast<unsigned long long>(XXH3_64bits(body.data(), body.size())));
  std::string framed = text.substr(0, begin) + body + "\n}\n";
  framed.replace(framed.find("\"checksum\":\"") + 12, 16, checksum);
  return framed;
}

TEST(Manifest, RoundTrips) {
  const Result<Manifest> back = decode_manifest(encode_manifest(example()));
  ASSERT_OK(back);
  EXPECT_EQ(*back, example());
  EXPECT_EQ(encode_manifest(*back), encode_manifest(example()));
}

/// Versions before patches would read the piece without them, so they must not take the text for one of theirs.
TEST(Manifest, WithPatchesIsOfVersionTwo) {
  const std::string text = encode_manifest(patched_example());
  EXPECT_TRUE(text.starts_with(R"({"format":"shoal checkpoint","version":2,)"));
  EXPECT_TRUE(encode_manifest(example()).starts_with(R"({"format":"shoal checkpoint","version":1,)"));
  const Result<Manifest> back = decode_manifest(text);
  ASSERT_OK(back);
  EXPECT_EQ(*back, patched_example());
}

TEST(Manifest, RefusesPatchesThatCannotBe) {
  struct Contradiction {
    std::string words;
    std::function<void(Patch&)> make;
  };
  const std::vector<Contradiction> contradictions{
      {"in a file that is not listed", [](Patch& patch) { patch.file = 2; }},
      {"changes nothing", [](Patch& patch) { patch.count = 0; }},
      {"changes nothing", [](Patch& patch) { patch.unit_bytes = 0; }},
      {"more units than its piece", [](Patch& patch) { patch.count = 91; }},
      {"more units than its piece", [](Patch& patch) { patch.count = UINT64_MAX; }},
      {"a patch and its units differ in size", [](Patch& patch) { patch.bytes = 33; }},
      {"a patch and its units differ in size", [](Patch& patch) { patch.bytes = 16; }},
      {"a patch and its units differ in size", [](Patch& patch) { patch.bytes = 0; }},
      {"more units than its piece", [](Patch& patch) { patch.unit_bytes = UINT64_MAX; }},
      {"outside of its file", [](Patch& patch) { patch.offset = 1000; }},
      {"outside of its file", [](Patch& patch) { patch.offset = UINT64_MAX - 3; }},
      {"overlaps", [](Patch& patch) { patch.offset = 300; }},
      {"overlaps", [](Patch& patch) { patch.offset = 100; }},
  };
  for (const Contradiction& each : contradictions) {
    Manifest manifest = patched_example();
    each.make(manifest.tensors[2].pieces[1].patches[0]);
    EXPECT_TRUE(fails_with(decode_manifest(encode_manifest(manifest)), ErrorKind::kDataLoss, each.words));
  }
}

/// Indexes of versions that knew neither keep their bytes.
TEST(Manifest, MayLackMeaningAndRest) {
  Manifest manifest = example();
  manifest.info.meaning = manifest.info.rules = "";
  const std::string text = encode_manifest(manifest);
  EXPECT_EQ(text.find("meaning"), std::string::npos);
  EXPECT_EQ(text.find("rest"), std::string::npos);
  EXPECT_EQ(value_or_raise(decode_manifest(text)), manifest);
}

// As versions before 2026-11-27 wrote them.
TEST(Manifest, NobodyHasEndedWhereNothingSaysSo) {
  const std::string old = reframed(encode_manifest(example()), [](std::string& body) {
    const size_t begin = body.find("\"ended\":[");
    body.erase(begin, body.find("\"files\"") - begin);
  });
  const Result<Manifest> back = decode_manifest(old);
  ASSERT_OK(back);
  EXPECT_TRUE(back->info.ended.empty());
  for (const char* const wrong : {"7", "{}", "[1]"}) {
    const std::string text = reframed(encode_manifest(example()), [wrong](std::string& body) {
      const size_t begin = body.find("\"ended\":[") + 8;
      body.replace(begin, body.find(']', begin) + 1 - begin, wrong);
    });
    EXPECT_FALSE(decode_manifest(text)) << wrong;
  }
}

TEST(Manifest, FindsTensorsByName) {
  const Manifest manifest = example();
  EXPECT_EQ(manifest.find("embedding")->pieces.size(), 2u);
  EXPECT_EQ(manifest.find("embeddin"), nullptr);
  EXPECT_EQ(manifest.find("zzz"), nullptr);
  EXPECT_EQ(manifest.data_bytes(), 5120u);
}

TEST(Manifest, EveryFlippedByteIsDataLoss) {
  const std::string text = encode_manifest(example());
  for (size_t at = 0; at < text.size(); ++at) {
    for (int bit : {0, 5, 7}) {
      std::string damaged = text;
      damaged[at] = char(damaged[at] ^ (1 << bit));
      EXPECT_TRUE(fails_with(decode_manifest(damaged), ErrorKind::kDataLoss, "")) << "byte " << at << " bit " << bit;
    }
  }
}

TEST(Manifest, EveryCutIsDataLoss) {
  const std::string text = encode_manifest(example());
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_TRUE(fails_with(decode_manifest(text.substr(0, size)), ErrorKind::kDataLoss, "")) << size;
  }
  EXPECT_TRUE(fails_with(decode_manifest(text + "x"), ErrorKind::kDataLoss, "cut"));
}

TEST(Manifest, SaysWhichChecksumItFound) {
  std::string text = encode_manifest(example());
  text[text.find("onednn")] = 'O';
  EXPECT_TRUE(fails_with(decode_manifest(text), ErrorKind::kDataLoss, ", expected "));
}

TEST(Manifest, RefusesANewerVersionBySaying) {
  std::string text = encode_manifest(example());
  text.replace(text.find("\"version\":1"), 11, "\"version\":3");
  EXPECT_TRUE(
      fails_with(decode_manifest(text), ErrorKind::kFailedPrecondition, "format version 3, but this build reads up to 2"));
}

/// One contradiction and the words that should tell of it.
struct Contradiction {
  std::string words;
  std::function<void(Manifest&)> make;
};

TEST(Manifest, RefusesContradictions) {
  const std::vector<Contradiction> contradictions{
      {"is not model.ckpt-200.data-", [](Manifest& m) { m.files[0].name = "../../etc/passwd"; }},
      {"is not model.ckpt-200.data-", [](Manifest& m) { m.files[0].name = "model.ckpt-200.data-/../x"; }},
      {"twice", [](Manifest& m) { m.files[1].name = m.files[0].name; }},
      {"has no name", [](Manifest& m) { m.tensors[0].name = ""; }},
      {"twice, or names are not in order", [](Manifest& m) { m.tensors[1].name = "bias"; }},
      {"outside of its file", [](Manifest& m) { m.tensors[0].pieces[0].offset = 1000; }},
      {"outside of its file", [](Manifest& m) { m.tensors[0].pieces[0].offset = UINT64_MAX - 10; }},
      {"in a file that is not listed", [](Manifest& m) { m.tensors[0].pieces[0].file = 2; }},
      {"a piece and its rows differ in size", [](Manifest& m) { m.tensors[0].pieces[0].bytes = 39; }},
      {"without gaps", [](Manifest& m) { m.tensors[2].pieces[1].row_begin = 11; }},
      {"rows 10 to 100 are missing", [](Manifest& m) { m.tensors[2].pieces.pop_back(); }},
      {"are missing", [](Manifest& m) { m.tensors[4].pieces.clear(); }},
      {"overlaps", [](Manifest& m) { m.tensors[1].pieces[0].offset = 100; }},
      {"size", [](Manifest& m) { m.tensors[0].dtype = DType::kString; }},
      {"size", [](Manifest& m) { m.tensors[0].shape = {int64_t(1) << 62}; }},
  };
  for (const Contradiction& each : contradictions) {
    Manifest manifest = example();
    each.make(manifest);
    EXPECT_TRUE(fails_with(decode_manifest(encode_manifest(manifest)), ErrorKind::kDataLoss, each.words));
  }
}

TEST(Manifest, SurvivesAnyBodyUnderARightChecksum) {
  const uint64_t seed = 20240607;
  std::mt19937_64 random(seed);
  const std::string text = encode_manifest(patched_example());
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    const std::string changed = reframed(text, [&](std::string& body) {
      for (uint64_t edits = 1 + random() % 3; edits > 0; --edits) {
        const size_t at = size_t(random() % body.size());
        switch (random() % 4) {
          case 0: body[at] = char(random()); break;
          case 1: body[at] = "0123456789-{}[],:\"e"[random() % 19]; break;
          case 2: body.erase(at, 1 + size_t(random() % 8)); break;
          case 3: body.insert(at, body.substr(size_t(random() % body.size()), size_t(random() % 12))); break;
        }
        if (body.empty()) body = "{}";
      }
    });
    const Result<Manifest> decoded = decode_manifest(changed);
    if (!decoded) {
      EXPECT_EQ(decoded.error().kind(), ErrorKind::kDataLoss) << "seed " << seed << " round " << round;
      continue;
    }
    ++accepted;  // Another digit of a checksum may be accepted; what is read must survive being written and read.
    const Result<Manifest> again = decode_manifest(encode_manifest(*decoded));
    ASSERT_OK(again);
    EXPECT_EQ(*again, *decoded) << "seed " << seed << " round " << round;
  }
  EXPECT_GT(accepted, 100);
  EXPECT_LT(accepted, 15000);
}

TEST(Manifest, DeepNestingIsRefused) {
  const std::string deep = reframed(encode_manifest(example()), [](std::string& body) {
    body = "{\"tensors\":" + std::string(1'000'000, '[') + std::string(1'000'000, ']') + "}";
  });
  EXPECT_TRUE(fails_with(decode_manifest(deep), ErrorKind::kDataLoss, "missing"));
}

TEST(CheckpointName, HasTheStepWithoutPadding) {
  EXPECT_EQ(checkpoint_name(0), "model.ckpt-0");
  EXPECT_EQ(checkpoint_name(12345678901), "model.ckpt-12345678901");
  EXPECT_EQ(step_of("model.ckpt-12345678901"), 12345678901);
  for (const char* other : {"model.ckpt-", "model.ckpt-007", "model.ckpt--1", "model.ckpt-+1", "model.ckpt-1.index",
                            "model.ckpt-99999999999999999999", "m/model.ckpt-1", "model.ckpt-1 ", ""}) {
    EXPECT_EQ(step_of(other), std::nullopt) << other;
  }
}

}  // namespace
}  // namespace shoal::checkpoint
