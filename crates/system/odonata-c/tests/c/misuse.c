/* Calls that the header refuses, each with the expected status and a part of its text. Prints the first difference. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "odonata.h"

static const char MACHINE[] = "machine.torus.dims = [4, 4]\n";

static void expect(int line, odonata_status found, odonata_status wanted, const char *text)
{
    if (found != wanted || strstr(odonata_last_error(), text) == NULL) {
        printf("line %d: status %d with \"%s\"; expected %d with \"%s\"\n", line, (int)found, odonata_last_error(),
               (int)wanted, text);
        exit(1);
    }
}

static void expect_true(int line, int condition)
{
    if (!condition) {
        printf("line %d: the condition is false\n", line);
        exit(1);
    }
}

#define REFUSES(call, text) expect(__LINE__, call, ODONATA_INVALID, text)
#define HOLDS(condition) expect_true(__LINE__, condition)

/* From within a callback, the time cannot advance, and the network cannot be closed; it can send and be read. */
static void nested(odonata_network *network, const odonata_event *event)
{
    int *calls = event->user;
    expect(__LINE__, odonata_run(network), ODONATA_IN_CALLBACK, "`odonata_run`");
    expect(__LINE__, odonata_step(network, ODONATA_NEVER), ODONATA_IN_CALLBACK, "`odonata_step`");
    expect(__LINE__, odonata_advance(network, 1), ODONATA_IN_CALLBACK, "`odonata_advance`");
    expect(__LINE__, odonata_close(network), ODONATA_IN_CALLBACK, "`odonata_close`");
    HOLDS(odonata_now_ps(network) == event->at_ps);
    odonata_message next = {.source = 1, .target = 2, .size = 100};
    HOLDS(odonata_send(network, &next, NULL) == ODONATA_OK);
    ++*calls;
}

static void opening(void)
{
    int place;
    odonata_network *network = (odonata_network *)&place;
    const char *wrong[] = {"network.fidelity=analytic"};
    REFUSES(odonata_open(NULL, NULL, 0, &network), "`machine` is NULL");
    HOLDS(network == NULL);
    REFUSES(odonata_open("theta", NULL, 1, &network), "`overrides` is NULL");
    REFUSES(odonata_open("theta", NULL, 0, NULL), "`network` is NULL");
    REFUSES(odonata_open("no/such.toml", NULL, 0, &network), "no/such.toml: the file cannot be read");
    HOLDS(network == NULL);
    REFUSES(odonata_open("thetta", NULL, 0, &network), "did you mean \"theta\"?");
    REFUSES(odonata_open_text("machine.torus.dim = [4]", NULL, NULL, 0, &network), "did you mean \"dims\"?");
    REFUSES(odonata_open_text("\xff", NULL, NULL, 0, &network), "`toml` is not UTF-8 text (byte 0)");
    REFUSES(odonata_open_text(MACHINE, NULL, wrong, 1, &network), "analytic");
    HOLDS(odonata_close(NULL) == ODONATA_OK);
}

static void without_network(void)
{
    odonata_event event;
    odonata_totals totals;
    odonata_message message = {0};
    REFUSES(odonata_send(NULL, &message, NULL), "`network` is NULL");
    REFUSES(odonata_run(NULL), "`network` is NULL");
    REFUSES(odonata_read_totals(NULL, &totals), "`network` is NULL");
    HOLDS(odonata_poll(NULL, &event) == 0 && odonata_nodes(NULL) == 0 && odonata_now_ps(NULL) == 0);
    HOLDS(odonata_is_idle(NULL) == 1 && odonata_next_event_ps(NULL) == ODONATA_NEVER);
}

static void using(void)
{
    odonata_network *network;
    odonata_event event;
    uint64_t links = 0;
    int calls = 0;
    HOLDS(odonata_open_text(MACHINE, ".", NULL, 0, &network) == ODONATA_OK);
    HOLDS(odonata_nodes(network) == 16);

    odonata_message message = {.source = 16};
    REFUSES(odonata_send(network, NULL, NULL), "`message` is NULL");
    REFUSES(odonata_send(network, &message, NULL), "there is no node 16");
    message = (odonata_message){.target = 1, .notify = 4};
    REFUSES(odonata_send(network, &message, NULL), "`notify` is 4");
    message = (odonata_message){.target = 1, .size = UINT64_MAX};
    REFUSES(odonata_send(network, &message, NULL), "at most 2^50");
    message = (odonata_message){.target = 1, .at_ps = UINT64_MAX};
    REFUSES(odonata_send(network, &message, NULL), "2^62 ps");
    REFUSES(odonata_advance(network, ODONATA_NEVER), "at most 2^62");
    REFUSES(odonata_step(network, ODONATA_NEVER - 1), "at most 2^62");
    REFUSES(odonata_read_totals(network, NULL), "`totals` is NULL");
    REFUSES(odonata_read_links(network, NULL, 1, &links), "`links` is NULL");
    HOLDS(odonata_poll(network, NULL) == 0 && odonata_is_idle(network));

    /* A refused message has no number. Events that are not wanted are neither called nor polled. */
    uint32_t number = 7;
    message = (odonata_message){.target = 5, .size = 1000, .user = &calls, .callback = nested};
    message.notify = ODONATA_DELIVERED;
    HOLDS(odonata_send(network, &message, &number) == ODONATA_OK && number == 0);
    message = (odonata_message){.target = 5, .size = 1000};
    HOLDS(odonata_send(network, &message, &number) == ODONATA_OK && number == 1);
    HOLDS(odonata_next_event_ps(network) == 1);
    HOLDS(odonata_run(network) == ODONATA_OK && calls == 1);
    HOLDS(odonata_is_idle(network) && odonata_next_event_ps(network) == ODONATA_NEVER);
    HOLDS(odonata_poll(network, &event) == 0);

    /* 16 routers with 4 cables and a node: two directions of each terminal link, one from each port to a router. */
    HOLDS(odonata_read_links(network, NULL, 0, &links) == ODONATA_OK && links == 16 * 4 + 2 * 16);

    /* An event of a message in flight never comes. */
    HOLDS(odonata_send(network, &message, NULL) == ODONATA_OK);
    HOLDS(odonata_close(network) == ODONATA_OK);
}

int main(void)
{
    HOLDS(odonata_abi() == ODONATA_ABI);
    HOLDS(strcmp(odonata_last_error(), "") == 0);
    opening();
    without_network();
    using();
    printf("as documented\n");
    return 0;
}
