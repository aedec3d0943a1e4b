#include "raycast/crossing.hpp"

namespace uzushio::raycast {

Floats crossing(const Plan& plan, const Part& part, const Packet& packet, const Surface& surface,
                Mask rays, const Span& span) {
    const Channel& channel = plan.channels[surface.channel];
    const FieldView& field = *part.fields[channel.field];
    const auto value = static_cast<float>(surface.value - channel.shift);
    Floats low = span.begin, high = span.end;
    Floats at_low = span.first[surface.channel] - value;
    Floats at_high = span.second[surface.channel] - value;
    const auto meet = [&] { return low + (high - low) * (at_low / (at_low - at_high)); };
    // Regula falsi; an end that stays has its value halved (the Illinois variant).
    Mask kept = no_lane();
    for (int i = 0; i < 3; ++i) {
        const Floats guess = min(max(meet(), low), high);
        const Places at = part.sampler.places(packet, guess);
        const Floats there = part.sampler.value(field, channel.shift, at, rays) - value;
        const Mask with_low = ~(less(there, floats(0)) ^ less(at_low, floats(0)));
        low = select(with_low, guess, low);
        at_low = select(with_low, there, at_low);
        high = select(with_low, high, guess);
        at_high = select(with_low, at_high, there);
        if (i > 0) {
            at_high = select(with_low & kept, at_high * 0.5F, at_high);
            at_low = select(~with_low & ~kept, at_low * 0.5F, at_low);
        }
        kept = with_low;
    }
    const Floats result = meet();
    return min(max(select(is_finite(result), result, low), span.begin), span.end);
}

} // namespace uzushio::raycast
