/* SPDX-License-Identifier: BSD-2-Clause */
#include "video/internal.h"

/* A decoder that fails this often in a row without a frame while it is drained has nothing left. */
#define MAX_DRAIN_ERRORS 4096

static int is_fatal(int error)
{
    return error == AVERROR(ENOMEM) || error == AVERROR_EXIT;
}

static void count_refused(mvf_decoder *decoder, int error)
{
    decoder->refused_packets++;
    decoder->last_error = error;
}

static int fetch_packet(mvf_decoder *decoder)
{
    if (decoder->has_packet)
        return 0;
    int error = decoder->calls.read(decoder->context, decoder->packet);
    if (error == AVERROR_EOF) {
        decoder->draining = 1;
        error = decoder->calls.send(decoder->context, NULL);
        if (is_fatal(error))
            return error;
        /* Of a packet before, which the decoder had not looked at. */
        if (error < 0 && error != AVERROR_EOF)
            count_refused(decoder, error);
        return AVERROR_EOF;
    }
    decoder->has_packet = error >= 0;
    return error;
}

/* Gives the decoder one packet. A packet refused with EAGAIN stays and is sent again after the
 * next frame. */
static int feed(mvf_decoder *decoder)
{
    int error = fetch_packet(decoder);
    if (error < 0)
        return error == AVERROR_EOF ? 0 : error;
    error = decoder->calls.send(decoder->context, decoder->packet);
    if (error == AVERROR(EAGAIN))
        return 0;
    av_packet_unref(decoder->packet);
    decoder->has_packet = 0;
    if (is_fatal(error))
        return error;
    if (error < 0)
        count_refused(decoder, error);
    return 0;
}

int mvf_decoder_next(mvf_decoder *decoder, AVFrame *frame)
{
    int drain_errors = 0;
    for (;;) {
        int error = decoder->calls.receive(decoder->context, frame);
        if (error >= 0 || error == AVERROR_EOF || is_fatal(error))
            return error;
        if (error != AVERROR(EAGAIN))
            count_refused(decoder, error);
        if (decoder->draining) {
            if (error == AVERROR(EAGAIN) || ++drain_errors > MAX_DRAIN_ERRORS)
                return AVERROR_EOF;
        } else if (error == AVERROR(EAGAIN)) {
            error = feed(decoder);
            if (error < 0)
                return error;
        }
    }
}
