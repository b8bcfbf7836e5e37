/*
 * Reads calls from standard input, a line each, and prints the events and answers: the driver of tests that compare this
 * interface with that of Python.
 *
 *   calls MACHINE [OVERRIDE...]
 *
 *   send SOURCE TARGET SIZE AT NOTIFY call|poll
 *   advance UNTIL | step UNTIL | step | run
 *   state          nodes, time, next event, whether idle
 *   totals | links
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "odonata.h"

static void print(const char *how, const odonata_event *event)
{
    printf("%s %" PRIu32 " %s %" PRIu64 "\n", how, event->message, event->kind == ODONATA_SENT ? "sent" : "delivered",
           event->at_ps);
}

/* A delivered message whose tag is not 0 is answered by one of `tag` bytes. */
static void called(odonata_network *network, const odonata_event *event)
{
    const odonata_message *message = event->user;
    print("called", event);
    if (event->tag == 0 || event->kind != ODONATA_DELIVERED)
        return;
    odonata_message answer = {.source = message->target, .target = message->source, .size = event->tag};
    answer.notify = ODONATA_DELIVERED;
    answer.callback = called;
    if (odonata_send(network, &answer, NULL) != ODONATA_OK)
        printf("error %s\n", odonata_last_error());
}

static odonata_status send_line(odonata_network *network, const char *line)
{
    /* It lives as long as the program: the callback reads it. */
    odonata_message *message = calloc(1, sizeof *message);
    char how[8];
    if (message == NULL || sscanf(line, "send %" SCNu32 " %" SCNu32 " %" SCNu64 " %" SCNu64 " %" SCNu32 " %7s",
                                  &message->source, &message->target, &message->size, &message->at_ps,
                                  &message->notify, how) != 6)
        exit(2);
    message->tag = message->size / 2;
    message->user = message;
    message->callback = strcmp(how, "call") == 0 ? called : NULL;
    return odonata_send(network, message, NULL);
}

static void print_links(odonata_network *network)
{
    uint64_t count = 0;
    odonata_read_links(network, NULL, 0, &count);
    odonata_link *links = calloc(count, sizeof *links);
    if (links == NULL || odonata_read_links(network, links, count, &count) != ODONATA_OK)
        exit(2);
    for (uint64_t i = 0; i < count; i++)
        printf("link %" PRId64 " %" PRId64 " %" PRId64 " %s %" PRIu64 " %" PRIu64 " %.17g %.17g\n", links[i].from_router,
               links[i].to_router, links[i].node, links[i].class_name, links[i].bytes, links[i].packets, links[i].busy_s,
               links[i].stall_s);
    free(links);
}

static void print_totals(odonata_network *network)
{
    odonata_totals all;
    if (odonata_read_totals(network, &all) != ODONATA_OK)
        exit(2);
    printf("totals %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %.17g %.17g\n", all.messages, all.packets, all.bytes,
           all.hops, all.packet_latency_mean_s, all.packet_latency_max_s);
}

int main(int argc, char **argv)
{
    odonata_network *network;
    if (argc < 2)
        return 2;
    if (odonata_open(argv[1], (const char *const *)argv + 2, (uint64_t)argc - 2, &network) != ODONATA_OK) {
        printf("error %s\n", odonata_last_error());
        return 1;
    }
    char line[256];
    while (fgets(line, sizeof line, stdin) != NULL) {
        odonata_status status = ODONATA_OK;
        odonata_event event;
        if (strncmp(line, "send ", 5) == 0)
            status = send_line(network, line);
        else if (strncmp(line, "advance ", 8) == 0)
            status = odonata_advance(network, strtoull(line + 8, NULL, 10));
        else if (strncmp(line, "step ", 5) == 0)
            status = odonata_step(network, strtoull(line + 5, NULL, 10));
        else if (strcmp(line, "step\n") == 0)
            status = odonata_step(network, ODONATA_NEVER);
        else if (strcmp(line, "run\n") == 0)
            status = odonata_run(network);
        else if (strcmp(line, "totals\n") == 0)
            print_totals(network);
        else if (strcmp(line, "links\n") == 0)
            print_links(network);
        else if (strcmp(line, "state\n") == 0)
            printf("state %" PRIu32 " %" PRIu64 " %" PRIu64 " %" PRId32 "\n", odonata_nodes(network),
                   odonata_now_ps(network), odonata_next_event_ps(network), odonata_is_idle(network));
        else
            return 2;
        if (status != ODONATA_OK)
            printf("error %s\n", odonata_last_error());
        while (odonata_poll(network, &event))
            print("polled", &event);
    }
    return odonata_close(network);
}
