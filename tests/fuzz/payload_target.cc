// SPDX-License-Identifier: Apache-2.0
// The payload of a push or of weights, in each encoding that is not the arena itself. The first byte is the encoding.
#include "payload_spec.h"
#include "shoal/base/buffer.h"
#include "state/codec.h"
#include "state/row_codec.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace shoal;
  static const cluster::ShardSpec spec = fuzz::payload_spec();
  static const auto pool = BufferPool::create();
  fuzz::Input input(data, size);
  const auto encoding = transport::Encoding(1 + input.take<uint8_t>() % 6);
  // The buffer has exactly the size of the input, for AddressSanitizer to watch.
  const Ref<Buffer> payload = Buffer::allocate(input.size());
  const auto bytes = input.take_bytes(input.size());
  if (!bytes.empty()) std::memcpy(payload->data(), bytes.data(), bytes.size());
  const Ref<Buffer> arena = pool->get(spec.arena_bytes);
  std::memset(arena->data(), 0, arena->size());
  if (encoding != transport::Encoding::kSparseRows) {
    if (cluster::decode(spec, encoding, payload->bytes(), arena->bytes())) fuzz::touch(arena->bytes());
    return 0;
  }
  std::vector<cluster::SegmentRows> rows(spec.segments.size()), again(spec.segments.size());
  if (!cluster::decode_rows(spec, payload->bytes(), arena->bytes(), rows)) return 0;
  cluster::store_rows(spec, rows, arena->bytes());
  const Ref<Buffer> copy = pool->get(cluster::row_payload_bytes(spec, rows));
  cluster::encode_rows(spec, arena->bytes(), rows, copy->bytes());
  SHOAL_CHECK(copy->size() == payload->size() && cluster::decode_rows(spec, copy->bytes(), arena->bytes(), again));
  for (size_t i = 0; i < rows.size(); ++i) SHOAL_CHECK(rows[i].rows == again[i].rows);
  return 0;
}
