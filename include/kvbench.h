/* kvbench.h: marks, and the joules and bytes of a span of one's own program, from a running kv260-telemetry.
 *
 * One header, C99 or C++, nothing to link. docs/daemon.md describes the protocol behind it.
 *
 *     kvbench_t kv;
 *     double joules;
 *     if (kvbench_open(&kv, NULL) != KVBENCH_OK) fprintf(stderr, "%s\n", kv.reason);
 *     int64_t begin = kvbench_now_ns();
 *     work();
 *     int64_t end = kvbench_now_ns();
 *     if (kvbench_joules(&kv, begin, end, NULL, &joules) == KVBENCH_OK) printf("%.3f J\n", joules);
 *     else fprintf(stderr, "not measured: %s\n", kv.reason);
 *     kvbench_close(&kv);
 *
 * A kvbench_t belongs to one thread. Times are nanoseconds of CLOCK_MONOTONIC.
 */
#ifndef KVBENCH_H
#define KVBENCH_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define KVBENCH_PROTOCOL 1
#define KVBENCH_SOCKET "/run/kvbench/telemetry.sock"
#define KVBENCH_LINE_BYTES 8192

enum {
    KVBENCH_OK = 0,
    KVBENCH_NOT_COVERED = 1, /* the samples do not deserve the figure: kvbench_t.reason says why */
    KVBENCH_ERROR = -1       /* no service, no permission, a wrong request, a connection lost */
};

typedef struct {
    int fd;
    size_t received;
    char line[KVBENCH_LINE_BYTES];
    char reason[256];
} kvbench_t;

/* The instant that samples and marks are stamped with. */
static inline int64_t kvbench_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline int kvbench_fail_(kvbench_t *kv, const char *what, const char *why)
{
    snprintf(kv->reason, sizeof kv->reason, "%s: %s", what, why);
    return KVBENCH_ERROR;
}

static inline void kvbench_close(kvbench_t *kv)
{
    if (kv->fd >= 0)
        close(kv->fd);
    kv->fd = -1;
}

/* Take the next line into kv->line, without its end. */
static inline int kvbench_receive_(kvbench_t *kv, size_t *length)
{
    for (;;) {
        char *end = (char *)memchr(kv->line, '\n', kv->received);
        if (end) {
            *end = '\0';
            *length = (size_t)(end - kv->line) + 1;
            return KVBENCH_OK;
        }
        if (kv->received == sizeof kv->line)
            return kvbench_fail_(kv, "kv260-telemetry", "a line is too long");
        ssize_t got = recv(kv->fd, kv->line + kv->received, sizeof kv->line - kv->received, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            const char *why = got == 0 ? "closed the connection" : strerror(errno);
            kvbench_close(kv); /* an answer that comes later would be taken for that of the next request */
            return kvbench_fail_(kv, "kv260-telemetry", why);
        }
        kv->received += (size_t)got;
    }
}

static inline void kvbench_consume_(kvbench_t *kv, size_t length)
{
    memmove(kv->line, kv->line + length, kv->received - length);
    kv->received -= length;
}

/* The number behind a key of the line, read the same in every locale; 0 if the key is absent. */
static inline int kvbench_number_(const char *line, const char *key, double *value)
{
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char *at = strstr(line, quoted);
    if (!at)
        return 0;
    at += strlen(quoted);
    double sign = *at == '-' ? -1 : 1, number = 0, place = 1;
    int exponent = 0;
    if (*at == '-')
        at++;
    if (*at < '0' || *at > '9')
        return 0;
    for (; *at >= '0' && *at <= '9'; at++)
        number = number * 10 + (*at - '0');
    if (*at == '.')
        for (at++; *at >= '0' && *at <= '9'; at++)
            number += (*at - '0') * (place /= 10);
    if (*at == 'e' || *at == 'E')
        exponent = atoi(at + 1);
    for (; exponent > 0; exponent--)
        number *= 10;
    for (; exponent < 0; exponent++)
        number /= 10;
    *value = sign * number;
    return 1;
}

/* Send a request and take its answer; the number behind `key` if `value` is not NULL. */
static inline int kvbench_ask_(kvbench_t *kv, const char *request, const char *key, double *value)
{
    size_t left = strlen(request), length = 0;
    while (left > 0) {
        ssize_t sent = send(kv->fd, request, left, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return kvbench_fail_(kv, "kv260-telemetry", strerror(errno));
        request += sent;
        left -= (size_t)sent;
    }
    if (kvbench_receive_(kv, &length) != KVBENCH_OK)
        return KVBENCH_ERROR;
    int result = KVBENCH_OK;
    if (strncmp(kv->line, "{\"ok\":true", 10) != 0) {
        const char *why = strstr(kv->line, "\"reason\":\"");
        snprintf(kv->reason, sizeof kv->reason, "%.*s", (int)sizeof kv->reason - 1, why ? why + 10 : kv->line);
        size_t said = strlen(kv->reason);
        if (why && said >= 2 && strcmp(kv->reason + said - 2, "\"}") == 0)
            kv->reason[said - 2] = '\0';
        result = strstr(kv->line, "\"error\":\"not-covered\"") ? KVBENCH_NOT_COVERED : KVBENCH_ERROR;
    } else if (value && !kvbench_number_(kv->line, key, value)) {
        result = kvbench_fail_(kv, "kv260-telemetry", "an answer without its figure");
    }
    kvbench_consume_(kv, length);
    return result;
}

/* Connect to the service at `path`; NULL means $KVBENCH_TELEMETRY, or this machine's. On failure kv->reason says why. */
static inline int kvbench_open(kvbench_t *kv, const char *path)
{
    struct sockaddr_un address;
    struct timeval patience = {10, 0};
    double protocol = 0;
    size_t length = 0;
    memset(kv, 0, sizeof *kv);
    memset(&address, 0, sizeof address);
    if (!path)
        path = getenv("KVBENCH_TELEMETRY");
    if (!path || !*path)
        path = KVBENCH_SOCKET;
    kv->fd = -1;
    if (strlen(path) >= sizeof address.sun_path)
        return kvbench_fail_(kv, path, "longer than a socket's path may be");
    address.sun_family = AF_UNIX;
    strcpy(address.sun_path, path);
    kv->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (kv->fd < 0 || connect(kv->fd, (struct sockaddr *)&address, sizeof address) != 0) {
        kvbench_fail_(kv, path, strerror(errno));
        kvbench_close(kv);
        return KVBENCH_ERROR;
    }
    setsockopt(kv->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (kvbench_receive_(kv, &length) != KVBENCH_OK) {
        kvbench_close(kv);
        return KVBENCH_ERROR;
    }
    if (!kvbench_number_(kv->line, "kvbench", &protocol) || protocol != KVBENCH_PROTOCOL) {
        kvbench_close(kv);
        return kvbench_fail_(kv, path, "speaks another protocol");
    }
    kvbench_consume_(kv, length);
    return KVBENCH_OK;
}

/* Set a mark at an instant, or now if `t_ns` is 0. A name has no spaces. */
static inline int kvbench_mark(kvbench_t *kv, const char *name, int64_t t_ns)
{
    char request[256];
    if (strlen(name) > 120 || strpbrk(name, " \t\r\n"))
        return kvbench_fail_(kv, name, "a mark's name has at most 120 characters and no space");
    snprintf(request, sizeof request, "mark %s %" PRId64 "\n", name, t_ns ? t_ns : kvbench_now_ns());
    return kvbench_ask_(kv, request, NULL, NULL);
}

static inline int kvbench_between_(kvbench_t *kv, const char *what, int64_t start_ns, int64_t end_ns, const char *whose,
                                   const char *key, double *value)
{
    char request[256];
    if (whose && (strlen(whose) > 120 || strpbrk(whose, " \t\r\n")))
        return kvbench_fail_(kv, whose, "no such rail or accelerator");
    snprintf(request, sizeof request, "%s %" PRId64 " %" PRId64 " %s\n", what, start_ns, end_ns, whose ? whose : "");
    return kvbench_ask_(kv, request, key, value);
}

/* Energy of a rail (NULL: the board's first) between two instants of the latest minutes. */
static inline int kvbench_joules(kvbench_t *kv, int64_t start_ns, int64_t end_ns, const char *rail, double *joules)
{
    return kvbench_between_(kv, "joules", start_ns, end_ns, rail, "joules", joules);
}

/* Bytes that everything on the board moved to and from memory. */
static inline int kvbench_bytes(kvbench_t *kv, int64_t start_ns, int64_t end_ns, double *bytes)
{
    return kvbench_between_(kv, "bytes", start_ns, end_ns, NULL, "bytes", bytes);
}

/* Share of the span in which an accelerator (NULL: the board's first) was busy, 0 to 1. */
static inline int kvbench_busy(kvbench_t *kv, int64_t start_ns, int64_t end_ns, const char *accelerator, double *share)
{
    return kvbench_between_(kv, "busy", start_ns, end_ns, accelerator, "busy_share", share);
}

#endif
