// SPDX-License-Identifier: Apache-2.0
#include "plot/svg_document.h"

#include "plot/clean_text.h"
#include "shoal/base/format.h"

namespace shoal::cli::plot {
namespace {

std::string place(std::string_view name, double value) { return attribute(name, coordinate(value)); }

std::string with_blank(std::string_view attributes) { return attributes.empty() ? "" : " " + std::string(attributes); }

}  // namespace

std::string coordinate(double value) {
  std::string text = formatted("%.2f", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string attribute(std::string_view name, std::string_view value) {
  return " " + std::string(name) + "=\"" + xml_text(value) + "\"";
}

double text_width(std::string_view text, double size) { return double(characters_in(text)) * size * 0.58; }

void SvgDocument::text(double x, double y, std::string_view text, const TextStyle& style) {
  body_ += "<text" + place("x", x) + place("y", y) + place("font-size", style.size);
  if (style.anchor != Anchor::kStart) body_ += attribute("text-anchor", style.anchor == Anchor::kMiddle ? "middle" : "end");
  if (style.bold) body_ += " font-weight=\"bold\"";
  body_ += attribute("fill", style.colour) + ">" + xml_text(text) + "</text>\n";
}

void SvgDocument::rectangle(double x, double y, double width, double height, std::string_view attributes) {
  body_ += "<rect" + place("x", x) + place("y", y) + place("width", width) + place("height", height) +
           with_blank(attributes) + "/>\n";
}

void SvgDocument::line(double x0, double y0, double x1, double y1, std::string_view attributes) {
  body_ +=
      "<line" + place("x1", x0) + place("y1", y0) + place("x2", x1) + place("y2", y1) + with_blank(attributes) + "/>\n";
}

void SvgDocument::circle(double x, double y, double radius, std::string_view attributes) {
  body_ += "<circle" + place("cx", x) + place("cy", y) + place("r", radius) + with_blank(attributes) + "/>\n";
}

void SvgDocument::path(std::string_view data, std::string_view attributes) {
  body_ += "<path" + attribute("d", data) + with_blank(attributes) + "/>\n";
}

void SvgDocument::open_group(std::string_view attributes) { body_ += "<g" + with_blank(attributes) + ">\n"; }

void SvgDocument::close_group() { body_ += "</g>\n"; }

std::string SvgDocument::finish(double width, double height, std::string_view title) const {
  const std::string across = coordinate(width), down = coordinate(height);
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + std::string(kSvgMark) +
         "\n<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"" + across + "\" height=\"" + down +
         "\" viewBox=\"0 0 " + across + " " + down + "\" font-family=\"sans-serif\">\n<title>" + xml_text(title) +
         "</title>\n<rect x=\"0\" y=\"0\" width=\"" + across + "\" height=\"" + down + "\" fill=\"#ffffff\"/>\n" + body_ +
         "</svg>\n";
}

}  // namespace shoal::cli::plot
