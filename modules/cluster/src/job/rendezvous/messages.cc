// SPDX-License-Identifier: Apache-2.0
#include "job/rendezvous/messages.h"

#include "job/resolvers/variables.h"
#include "shoal/json/fields.h"

namespace shoal::cluster {
namespace {

using Json = json::Json;

constexpr size_t kHostBytesMax = 300;  // A host name has at most 253 bytes; a port may follow.
constexpr size_t kTextBytesMax = 1000;

std::string text_of_message(const Json& message) { return json::text_of(message); }

Result<Json> message_of(std::string_view verb, std::string_view text) {
  Result<Json> message = json::parse_object(text);
  if (!message) return std::move(message).error().with_context("rendezvous, " + std::string(verb));
  return message;
}

Result<std::string> bounded(const Json& message, std::string_view name, size_t bytes_max) {
  SHOAL_TRY(std::string text, json::string_member(message, name));
  if (text.size() > bytes_max)
    return data_loss("\"" + std::string(name) + "\" is longer than " + std::to_string(bytes_max) + " bytes");
  return text;
}

/// Checks an address; accepts an empty text, which means no address.
Result<void> check_address_text(const std::string& address) {
  if (address.size() > kHostBytesMax) return data_loss("an address is too long");
  if (address.empty()) return {};
  if (const auto parsed = parse_host_port(address); !parsed) return data_loss(parsed.error().message());
  return {};
}

Result<std::vector<std::string>> texts_of(const Json& message, std::string_view name) {
  SHOAL_TRY(const Json* list, json::list_member(message, name));
  if (list->size() > size_t(kRanksMax)) return data_loss("\"" + std::string(name) + "\" is too long");
  std::vector<std::string> texts;
  for (const Json& item : *list) {
    SHOAL_TRY(std::string text, json::string_of(item, name));
    if (text.size() > kHostBytesMax) return data_loss("\"" + std::string(name) + "\" has a text that is too long");
    texts.push_back(std::move(text));
  }
  return texts;
}

Json json_of(const Gathering& gathering) {
  return {{"id", gathering.id}, {"addresses", gathering.addresses}, {"host_names", gathering.host_names}};
}

Result<Gathering> gathering_of(const Json& message) {
  Gathering gathering;
  SHOAL_TRY(gathering.id, json::whole_member<uint64_t>(message, "id", 1));
  SHOAL_TRY(gathering.addresses, texts_of(message, "addresses"));
  SHOAL_TRY(gathering.host_names, texts_of(message, "host_names"));
  if (gathering.addresses.size() != gathering.host_names.size())
    return data_loss("there are not as many addresses as hosts");
  for (const std::string& address : gathering.addresses) SHOAL_TRY_VOID(check_address_text(address));
  return gathering;
}

}  // namespace

std::string to_json(const Join& join) {
  Json message{{"rank", join.rank}, {"size", join.size}, {"plan", join.plan}, {"run", join.run}};
  message["own_host"] = join.own_host;
  message["host_name"] = join.host_name;
  if (join.known) message["known"] = json_of(*join.known);
  return text_of_message(message);
}

Result<Join> parse_join(std::string_view text) {
  SHOAL_TRY(const Json message, message_of("join", text));
  Join join;
  SHOAL_TRY(join.size, json::whole_member<int32_t>(message, "size", 1));
  SHOAL_TRY(join.rank, json::whole_member<int32_t>(message, "rank", 0));
  if (join.size > kRanksMax || join.rank >= join.size) return data_loss("rendezvous, join: the rank is not below the size");
  SHOAL_TRY(join.plan, bounded(message, "plan", kTextBytesMax));
  SHOAL_TRY(join.run, bounded(message, "run", kTextBytesMax));
  SHOAL_TRY(join.own_host, bounded(message, "own_host", kHostBytesMax));
  SHOAL_TRY(join.host_name, bounded(message, "host_name", kHostBytesMax));
  if (const auto known = message.find("known"); known != message.end()) {
    SHOAL_TRY(join.known, gathering_of(*known));
    if (join.known->addresses.size() != size_t(join.size)) return data_loss("rendezvous, join: a cluster of another size");
  }
  return join;
}

std::string to_json(const SeatOffer& offer) { return text_of_message({{"host", offer.host}, {"address", offer.address}}); }
Result<SeatOffer> parse_seat_offer(std::string_view text) {
  SHOAL_TRY(const Json message, message_of("seat", text));
  SeatOffer offer;
  SHOAL_TRY(offer.host, bounded(message, "host", kHostBytesMax));
  SHOAL_TRY(offer.address, bounded(message, "address", kHostBytesMax));
  SHOAL_TRY_VOID(check_address_text(offer.address));
  SHOAL_TRY_VOID(check_address_text(offer.host + ":1"));
  return offer;
}

std::string to_json(const SeatTaken& taken) { return text_of_message({{"address", taken.address}}); }
Result<SeatTaken> parse_seat_taken(std::string_view text) {
  SHOAL_TRY(const Json message, message_of("here", text));
  SeatTaken taken;
  SHOAL_TRY(taken.address, bounded(message, "address", kHostBytesMax));
  SHOAL_TRY_VOID(check_address_text(taken.address));
  return taken;
}

std::string to_json(const Missing& missing) {
  return text_of_message({{"ranks", missing.ranks}, {"count", missing.count}});
}
Result<Missing> parse_missing(std::string_view text) {
  SHOAL_TRY(const Json message, message_of("waiting", text));
  Missing missing;
  SHOAL_TRY(missing.count, json::whole_member<int32_t>(message, "count", 0));
  SHOAL_TRY(const Json* ranks, json::list_member(message, "ranks"));
  if (ranks->size() > kMissingShown) return data_loss("rendezvous, waiting: more ranks than are shown");
  for (const Json& rank : *ranks) {
    SHOAL_TRY(missing.ranks.emplace_back(), json::whole_of<int32_t>(rank, "ranks", 0));
  }
  return missing;
}

std::string to_json(const Gathering& gathering) { return text_of_message(json_of(gathering)); }
Result<Gathering> parse_gathering(std::string_view text) {
  SHOAL_TRY(const Json message, message_of("cluster", text));
  return gathering_of(message);
}

uint64_t rendezvous_bytes_max(int32_t size) {
  constexpr uint64_t kOther = 16 * 1024, kPerRank = 1024;  // Leaves room for names whose JSON escapes double their length.
  return kOther + kPerRank * uint64_t(size);
}

}  // namespace shoal::cluster
