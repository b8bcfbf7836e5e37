/*
 * Two nodes exchange a message ten times, and the program prints the time of each exchange.
 *
 *   make c-library
 *   cc examples/backend/ping_pong.c $(PKG_CONFIG_PATH=target/c-library/lib/pkgconfig pkg-config --cflags --libs odonata) \
 *      -Wl,-rpath,target/c-library/lib -o ping_pong
 *   ./ping_pong
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "odonata.h"

enum { EXCHANGES = 10, SIZE = 65536 };

static void check(odonata_status status)
{
    if (status != ODONATA_OK) {
        fprintf(stderr, "%s\n", odonata_last_error());
        exit(1);
    }
}

static void send_to(odonata_network *network, uint32_t source, uint32_t target, int *exchanges);

/* A message has arrived: its receiver answers. `user` counts the exchanges, `tag` is the receiver. */
static void answer(odonata_network *network, const odonata_event *event)
{
    int *exchanges = event->user;
    uint32_t here = (uint32_t)event->tag, there = here == 0 ? 12 : 0;
    if (here == 0) {
        printf("%d: %.3f us\n", *exchanges, (double)event->at_ps * 1e-6);
        if (++*exchanges == EXCHANGES)
            return;
    }
    send_to(network, here, there, exchanges);
}

static void send_to(odonata_network *network, uint32_t source, uint32_t target, int *exchanges)
{
    odonata_message message = {.source = source, .target = target, .size = SIZE, .tag = target, .user = exchanges};
    message.callback = answer;
    message.notify = ODONATA_DELIVERED;
    check(odonata_send(network, &message, NULL));
}

int main(void)
{
    odonata_network *network;
    check(odonata_open_text("machine.torus.dims = [5, 5]", NULL, NULL, 0, &network));

    int exchanges = 0;
    send_to(network, 0, 12, &exchanges);
    check(odonata_run(network));

    odonata_totals totals;
    check(odonata_read_totals(network, &totals));
    printf("%" PRIu64 " messages, %" PRIu64 " packets\n", totals.messages, totals.packets);
    return odonata_close(network);
}
