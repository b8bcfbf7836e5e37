/*
 * Odonata as a network backend: send messages, advance the time, get events.
 *
 * A guide with examples: docs/network-backend.md. Times are whole picoseconds, sizes bytes. Nodes are numbered from 0.
 *
 * Determinism: a network is sequential. The same calls with the same seed give the same times.
 *
 * Failures: functions with a status return ODONATA_OK or the kind of the failure; odonata_last_error() is its text.
 * Other functions return a documented value for an invalid argument, and keep a text as well.
 *
 * Threads: one thread at a time uses a network; it need not be the thread that has opened it. Networks are independent.
 *
 * Callbacks: a callback may send, poll and read times and counters of its network. It must return: no longjmp, no C++
 * exception may leave it.
 */
#ifndef ODONATA_H
#define ODONATA_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. odonata_abi() of a compatible library returns the same. */
#define ODONATA_ABI 1

/* No time: the limit of odonata_step() without a limit, the next event of an idle network. */
#define ODONATA_NEVER UINT64_MAX

/* The result of a call. */
typedef int32_t odonata_status;
enum {
    ODONATA_OK = 0,          /* done */
    ODONATA_INVALID = 1,     /* an argument or the scenario is invalid; nothing has changed */
    ODONATA_IN_CALLBACK = 2, /* a callback may not make this call */
    ODONATA_INTERNAL = 3     /* a fault of the library; the network can only be closed */
};

/* Kinds of events. */
enum {
    ODONATA_SENT = 1,     /* the last packet of the message starts to leave its node, whose buffer is free then */
    ODONATA_DELIVERED = 2 /* the last byte of the message has arrived */
};

/* The network of a machine. */
typedef struct odonata_network odonata_network;

/* An event of a message. */
typedef struct odonata_event {
    uint64_t at_ps;
    uint64_t tag;     /* as in the message */
    void *user;       /* as in the message */
    uint32_t message; /* the number of the message */
    uint32_t kind;    /* ODONATA_SENT or ODONATA_DELIVERED */
} odonata_event;

/* Takes an event; odonata_now_ps(network) is its time. The event is valid until the callback returns. */
typedef void (*odonata_callback)(odonata_network *network, const odonata_event *event);

/* A message to send. Zero is a default for every field but the nodes. */
typedef struct odonata_message {
    uint32_t source;
    uint32_t target;
    uint64_t size;             /* bytes, at most 2^50 */
    uint64_t at_ps;            /* when it reaches its interface, if that is later than a picosecond after now */
    uint64_t tag;              /* copied into events; the network does not read it */
    void *user;                /* copied into events; the network does not read it */
    odonata_callback callback; /* takes the events; NULL: odonata_poll() returns them */
    uint32_t notify;           /* the wanted kinds of events, summed; 0: none */
} odonata_message;

/* The counters of all messages together. */
typedef struct odonata_totals {
    uint64_t messages; /* delivered, as are packets and bytes */
    uint64_t packets;
    uint64_t bytes;
    uint64_t hops; /* routers visited by the packets, summed */
    double packet_latency_mean_s;
    double packet_latency_max_s;
} odonata_totals;

/* The counters of a direction of a link. */
typedef struct odonata_link {
    int64_t from_router; /* -1 where a node sends */
    int64_t to_router;   /* -1 where a node receives */
    int64_t node;        /* the node at one end; -1 between routers */
    uint64_t bytes;
    uint64_t packets;
    double busy_s;       /* the link transmitted */
    double stall_s;      /* exhausted buffers stalled the link */
    char class_name[32]; /* "terminal", or a class of network.links */
} odonata_link;

/* The version of this interface that the library has. */
uint32_t odonata_abi(void);

/* The version of Odonata, such as "0.1.0". It lives as long as the program. */
const char *odonata_version(void);

/* The text of the last failure on this thread, "" without one. It is valid until the next failure on this thread. */
const char *odonata_last_error(void);

/*
 * Opens the network of `machine`: a scenario file or the name of a preset. Jobs and storage are left out.
 * `overrides` are `overrides_len` settings such as "seed=7" or "network.fidelity=flow", and may be NULL for none.
 * `*network` becomes the open network, which the caller closes; NULL after a failure.
 */
odonata_status odonata_open(const char *machine, const char *const *overrides, uint64_t overrides_len,
                            odonata_network **network);

/*
 * The same for a scenario given as text. Relative names of files in it start at `folder`; NULL is the current folder.
 */
odonata_status odonata_open_text(const char *toml, const char *folder, const char *const *overrides,
                                 uint64_t overrides_len, odonata_network **network);

/* Closes a network, and frees it. NULL is allowed. Messages in flight are dropped without events. */
odonata_status odonata_close(odonata_network *network);

/*
 * Sends a message, which is copied. `*number` becomes its number, from 0 in the order of sends; `number` may be NULL.
 */
odonata_status odonata_send(odonata_network *network, const odonata_message *message, uint32_t *number);

/* Advances the time to `until_ps`, at most 2^62. Events come in the order of time. A past time changes nothing. */
odonata_status odonata_advance(odonata_network *network, uint64_t until_ps);

/*
 * Advances to the next wanted event, and not beyond `until_ps`. All events at this time have come then. Without an event,
 * the time becomes `until_ps`; with ODONATA_NEVER, that of the last event in the network.
 */
odonata_status odonata_step(odonata_network *network, uint64_t until_ps);

/* Advances until no message is in flight. */
odonata_status odonata_run(odonata_network *network);

/* Takes the earliest event that has no callback: 1 if `*event` is one, 0 if there is none. */
int32_t odonata_poll(odonata_network *network, odonata_event *event);

/* The number of nodes; 0 for an invalid network. */
uint32_t odonata_nodes(const odonata_network *network);

/* The time that the network has reached; 0 for an invalid network. */
uint64_t odonata_now_ps(const odonata_network *network);

/*
 * When something happens next within the network; ODONATA_NEVER if nothing is in flight. No event comes earlier, so another
 * simulator may advance to this time on its own.
 */
uint64_t odonata_next_event_ps(const odonata_network *network);

/* Whether no message is in flight; 1 for an invalid network. */
int32_t odonata_is_idle(const odonata_network *network);

/* Writes the counters of all messages. */
odonata_status odonata_read_totals(const odonata_network *network, odonata_totals *totals);

/*
 * Writes the counters of the first `capacity` directions of links, those of routers first. `*count` becomes the number of all
 * directions; `count` may be NULL. With the capacity 0, `links` may be NULL.
 */
odonata_status odonata_read_links(const odonata_network *network, odonata_link *links, uint64_t capacity,
                                  uint64_t *count);

#ifdef __cplusplus
}
#endif

#endif
