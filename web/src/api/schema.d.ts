/** Written by `npm run types` from openapi.json. Do not edit. */

export interface paths {
    "/api/v1/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the audit, newest first. */
        get: {
            parameters: {
                query?: {
                    /** @description At most so many lines: 1 to 1000, 100 when left out. */
                    limit?: number;
                    /** @description The `next` of the page before. */
                    cursor?: string;
                    /** @description By this key. */
                    actor?: components["schemas"]["KeyId"];
                    /** @description Doing this, such as `sandbox.create`. */
                    action?: string;
                    /** @description To this. */
                    subject?: string;
                    /** @description With this end. */
                    outcome?: components["schemas"]["Outcome"];
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description A page of the audit. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Page_AuditView"];
                    };
                };
                /** @description A problem. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/problem+json": components["schemas"]["Problem"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Follows the journal. `id` is the cursor, `event` the kind, `data` the entry. Come back with `Last-Event-ID`. */
        get: {
            parameters: {
                query?: {
                    /** @description Begin after this cursor; with the next entry when left out. */
                    after?: number;
                    /** @description About this sandbox. */
                    sandbox_id?: components["schemas"]["SandboxId"];
                    /** @description About this task. */
                    task_id?: components["schemas"]["TaskId"];
                    /** @description Of these kinds, separated by commas: `sandbox`, `key`, `provider`. */
                    kind?: string;
                };
                header?: {
                    /** @description Goes before `after`. */
                    "Last-Event-ID"?: number | null;
                };
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description A stream of entries; `reset` and `drain` are told in between. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/event-stream": components["schemas"]["Entry"];
                    };
                };
                /** @description A problem. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/problem+json": components["schemas"]["Problem"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the keys, newest first. Revoked ones stay on the list. */
        get: {
            parameters: {
                query?: {
                    /** @description At most so many keys: 1 to 1000, 100 when left out. */
                    limit?: number;
                    /** @description The `next` of the page before. */
                    cursor?: string;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description A page of keys. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Page_KeyView"];
                    };
                };
                /** @description A problem. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/problem+json": components["schemas"]["Problem"];
                    };
                };
            };
        };
        put?: never;
        /** Mints a key. Its secret is in the answer and nowhere else. */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description Repeating the request with the same key makes one thing. */
                    "Idempotency-Key"?: string | null;
                };
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["NewKey"];
                };
            };
            responses: {
                /** @description The key and its secret. */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Minted"];
                    };
                };
                /** @description A problem. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/problem+json": components["schemas"]["Problem"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/keys/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows a key. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: components["schemas"]["KeyId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The key. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["KeyView"];
                    };
                };
                /** @description A problem. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/problem+json": components["schemas"]["Problem"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        /** Ends a key at once. */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: components["schemas"]["KeyId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description It is void. */
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content?: never;
                };
                /** @description A problem. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/problem+json": components["schemas"]["Problem"];
                    };
                };
            };
        };
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/keys/{id}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Gives a key a new secret. The old one is void at once. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: components["schemas"]["KeyId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The key and its new secret. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Minted"];
                    };
                };
                /** @description A problem. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/problem+json": components["schemas"]["Problem"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Says who is asking. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The bearer of the key. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Bearer"];
                    };
                };
                /** @description A problem. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/problem+json": components["schemas"]["Problem"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/providers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the providers and their circuit breakers. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The providers. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Page_ProviderView"];
                    };
                };
                /** @description A problem. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/problem+json": components["schemas"]["Problem"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sandboxes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists sandboxes, newest first: those that the key may see. */
        get: {
            parameters: {
                query?: {
                    /** @description At most so many sandboxes: 1 to 1000, 100 when left out. */
                    limit?: number;
                    /** @description The `next` of the page before. */
                    cursor?: string;
                    /** @description In this phase; all but `gone` when left out. */
                    phase?: components["schemas"]["Phase"];
                    /** @description At this provider. */
                    provider?: components["schemas"]["ProviderName"];
                    /** @description From this template. */
                    template?: components["schemas"]["TemplateName"];
                    /** @description Of this agent. */
                    agent_id?: components["schemas"]["AgentId"];
                    /** @description Of this task. */
                    task_id?: components["schemas"]["TaskId"];
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description A page of sandboxes. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["SandboxPage"];
                    };
                };
                /** @description A problem. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/problem+json": components["schemas"]["Problem"];
                    };
                };
            };
        };
        put?: never;
        /** Asks for a sandbox. It is born `requested`; the events tell when it is `ready`. */
        post: {
            parameters: {
                query?: {
                    /** @description Answer only when the sandbox is in this phase; the header `Carrel-Waited` says how the wait ended. */
                    wait?: components["schemas"]["Phase"];
                    /** @description Seconds to wait at most: 1 to 600, 60 when left out. */
                    timeout?: number;
                };
                header?: {
                    /** @description Repeating the request with the same key makes one thing. */
                    "Idempotency-Key"?: string | null;
                };
                path?: never;
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["NewSandbox"] | null;
                };
            };
            responses: {
                /** @description It was asked for. */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["SandboxView"];
                    };
                };
                /** @description A problem. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/problem+json": components["schemas"]["Problem"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sandboxes/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows a sandbox. One that ended is shown as its tombstone. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: components["schemas"]["SandboxId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The sandbox. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["SandboxView"];
                    };
                };
                /** @description A problem. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/problem+json": components["schemas"]["Problem"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        /** Asks for a sandbox to end. Asking again is no mistake. */
        delete: {
            parameters: {
                query?: {
                    /** @description Answer only when the sandbox is in this phase; the header `Carrel-Waited` says how the wait ended. */
                    wait?: components["schemas"]["Phase"];
                    /** @description Seconds to wait at most: 1 to 600, 60 when left out. */
                    timeout?: number;
                };
                header?: never;
                path: {
                    id: components["schemas"]["SandboxId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description It was asked for. */
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content?: never;
                };
                /** @description A problem. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/problem+json": components["schemas"]["Problem"];
                    };
                };
            };
        };
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sandboxes/{id}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Asks for a sandbox to be paused. */
        post: {
            parameters: {
                query?: {
                    /** @description Answer only when the sandbox is in this phase; the header `Carrel-Waited` says how the wait ended. */
                    wait?: components["schemas"]["Phase"];
                    /** @description Seconds to wait at most: 1 to 600, 60 when left out. */
                    timeout?: number;
                };
                header?: never;
                path: {
                    id: components["schemas"]["SandboxId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description It was asked for. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["SandboxView"];
                    };
                };
                /** @description A problem. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/problem+json": components["schemas"]["Problem"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sandboxes/{id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Asks for a paused sandbox to work again. Its lifetime starts anew. */
        post: {
            parameters: {
                query?: {
                    /** @description Answer only when the sandbox is in this phase; the header `Carrel-Waited` says how the wait ended. */
                    wait?: components["schemas"]["Phase"];
                    /** @description Seconds to wait at most: 1 to 600, 60 when left out. */
                    timeout?: number;
                };
                header?: never;
                path: {
                    id: components["schemas"]["SandboxId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description It was asked for. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["SandboxView"];
                    };
                };
                /** @description A problem. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/problem+json": components["schemas"]["Problem"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sandboxes/{id}/timeout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Starts a sandbox's lifetime anew. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: components["schemas"]["SandboxId"];
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["NewTimeout"];
                };
            };
            responses: {
                /** @description It lives that long from now on. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["SandboxView"];
                    };
                };
                /** @description A problem. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/problem+json": components["schemas"]["Problem"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sign-in": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Signs a browser in. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["SignIn"];
                };
            };
            responses: {
                /** @description Signed in; the cookie says so. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["SignedIn"];
                    };
                };
                /** @description A problem. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/problem+json": components["schemas"]["Problem"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sign-in/link": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Makes a link that signs one browser in, once, as the bearer of the key that asks. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The link. */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["SignInLink"];
                    };
                };
                /** @description A problem. */
                default: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/problem+json": components["schemas"]["Problem"];
                    };
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sign-out": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Signs a browser out. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Signed out. */
                204: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content?: never;
                };
            };
        };
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the process is alive. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Alive. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/plain": string;
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The numbers, for Prometheus. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Prometheus text. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/plain": string;
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the server can work. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description It can. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ReadinessView"];
                    };
                };
                /** @description It cannot. */
                503: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ReadinessView"];
                    };
                };
            };
        };
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description Who did something. */
        Actor: {
            key_id?: components["schemas"]["KeyId"] | null;
            /** @description Its name, or `nobody`, or `carrel`. */
            name: string;
            role?: components["schemas"]["Role"] | null;
        };
        /** @description Names an agent. */
        AgentId: string;
        /** @description One line of the audit. */
        AuditView: {
            /**
             * Format: int64
             * @description Its number.
             */
            id: number;
            /**
             * Format: date-time
             * @description When.
             */
            at: string;
            /** @description Who. */
            actor: components["schemas"]["Actor"];
            /** @description What, such as `sandbox.create`. */
            action: string;
            /** @description To what. */
            subject?: string | null;
            /** @description From where. */
            origin?: string | null;
            /** @description How it ended. */
            outcome: components["schemas"]["Outcome"];
            /** @description More, when there is more to say. */
            detail?: string | null;
        };
        /** @description Who is asking. */
        Bearer: {
            /** @description The key that was shown. */
            key_id: components["schemas"]["KeyId"];
            /** @description Its name. */
            name: string;
            /** @description What it may do. */
            role: components["schemas"]["Role"];
            agent_id?: components["schemas"]["AgentId"] | null;
            sandbox_id?: components["schemas"]["SandboxId"] | null;
        };
        /**
         * @description How a breaker stands.
         * @enum {string}
         */
        BreakerState: "closed" | "open" | "half_open";
        /** @description A provider's circuit breaker. */
        BreakerView: {
            /** @description How it stands. */
            state: components["schemas"]["BreakerState"];
            /**
             * Format: int32
             * @description Failures in a row so far.
             */
            failures: number;
            /**
             * Format: date-time
             * @description When it is tried again.
             */
            retry_at?: string | null;
            /** @description What the last failure said. */
            last_error?: string | null;
        };
        /**
         * Format: int64
         * @description A place in the journal. Entries have the cursors 1, 2, 3, … without a gap, in the order of their commits.
         */
        Cursor: number;
        /** @description Who ended a sandbox, why and when. */
        EndedView: {
            /** @description A key id, or `lifetime`. */
            by: string;
            /** @description A sentence. */
            why: string;
            /**
             * Format: date-time
             * @description The moment.
             */
            at: string;
        };
        /** @description One entry of the journal. */
        Entry: components["schemas"]["Happening"] & {
            /** @description Its place. */
            cursor: components["schemas"]["Cursor"];
            /**
             * Format: date-time
             * @description When it happened.
             */
            at: string;
        };
        /** @description Why a field was not accepted. */
        FieldProblem: {
            /** @description The field, with dots for depth: `limits.cpus`. */
            field: string;
            /** @description What is wrong and what is allowed, as a sentence. */
            detail: string;
        };
        /** @description What happened: the kind, and the subject as it now is. */
        Happening: {
            /** @description As it now is. */
            sandbox: components["schemas"]["SandboxView"];
            /** @enum {string} */
            kind: "sandbox";
        } | {
            /** @description As it now is. */
            key: components["schemas"]["KeyView"];
            /** @enum {string} */
            kind: "key";
        } | {
            /** @description As it now is. */
            provider: components["schemas"]["ProviderView"];
            /** @enum {string} */
            kind: "provider";
        };
        /** @description A host that may be reached: a name, `*.name`, or either with a port. */
        HostRule: string;
        /**
         * @description How strongly a sandbox is kept apart from the host and from its neighbours.
         * @enum {string}
         */
        Isolation: "none" | "namespace" | "gvisor" | "microvm" | "e2b";
        /** @description Names a key. It is not the secret. */
        KeyId: string;
        /** @description A key. Its secret is shown once, when it is minted or rotated. */
        KeyView: {
            /** @description Its name, for good. */
            id: components["schemas"]["KeyId"];
            /** @description What people call it. */
            name: string;
            /** @description What it may do. */
            role: components["schemas"]["Role"];
            agent_id?: components["schemas"]["AgentId"] | null;
            sandbox_id?: components["schemas"]["SandboxId"] | null;
            /** @description The beginning of its secret. */
            prefix: string;
            /**
             * Format: date-time
             * @description When it was minted.
             */
            created_at: string;
            created_by?: components["schemas"]["KeyId"] | null;
            /**
             * Format: date-time
             * @description When it was last shown, to the minute.
             */
            last_used_at?: string | null;
            /**
             * Format: date-time
             * @description From when on it is void.
             */
            expires_at?: string | null;
            /**
             * Format: date-time
             * @description When it was ended.
             */
            revoked_at?: string | null;
            /**
             * Format: int64
             * @description Counts its changes.
             */
            revision: number;
        };
        /** @description How much a sandbox may use. */
        Limits: {
            /**
             * Format: double
             * @description Processors.
             */
            cpus: number;
            /**
             * Format: int64
             * @description Memory in MiB.
             */
            memory_mb: number;
            /**
             * Format: int64
             * @description Disk in MiB.
             */
            disk_mb: number;
            /**
             * Format: int64
             * @description Processes.
             */
            pids: number;
        };
        /** @description What the user wrote on a sandbox: at most 64 entries of modest size. */
        Metadata: {
            [key: string]: string;
        };
        /** @description A key with its secret: the only time it is shown. */
        Minted: {
            /** @description The key. */
            key: components["schemas"]["KeyView"];
            /** @description Its secret, `crl_` and 40 hexadecimal digits. Absent when the request was repeated: it was shown the first time. */
            secret?: string | null;
        };
        /** @description Whom a sandbox may talk to. */
        Network: {
            /** @description How open it is. */
            mode: components["schemas"]["NetworkMode"];
            /** @description With mode `allow`: the hosts that may be reached. */
            allow: components["schemas"]["HostRule"][];
        };
        /**
         * @description How open the network is.
         * @enum {string}
         */
        NetworkMode: "none" | "allow" | "open";
        /** @description Asks for a key. */
        NewKey: {
            /** @description What people will call it: 1 to 64 characters. */
            name: string;
            /** @description What it may do. */
            role: components["schemas"]["Role"];
            agent_id?: components["schemas"]["AgentId"] | null;
            sandbox_id?: components["schemas"]["SandboxId"] | null;
            /**
             * Format: int64
             * @description After how many seconds it is void; never when left out.
             */
            expires_in_s?: number | null;
        };
        /** @description How much a sandbox may use; what is left out has its default. */
        NewLimits: {
            /**
             * Format: double
             * @description Processors.
             */
            cpus?: number | null;
            /**
             * Format: int64
             * @description Memory in MiB.
             */
            memory_mb?: number | null;
            /**
             * Format: int64
             * @description Disk in MiB.
             */
            disk_mb?: number | null;
            /**
             * Format: int64
             * @description Processes.
             */
            pids?: number | null;
        };
        /** @description Whom a sandbox may talk to. */
        NewNetwork: {
            /** @description How open it is. */
            mode: components["schemas"]["NetworkMode"];
            /** @description With mode `allow`: at most 256 hosts that may be reached. */
            allow?: components["schemas"]["HostRule"][];
        };
        /** @description Asks for a sandbox. Everything has a default. */
        NewSandbox: {
            template?: components["schemas"]["TemplateName"] | null;
            provider?: components["schemas"]["ProviderName"] | null;
            isolation?: components["schemas"]["Isolation"] | null;
            agent_id?: components["schemas"]["AgentId"] | null;
            task_id?: components["schemas"]["TaskId"] | null;
            /** @description Environment of everything that runs inside: at most 256 variables. */
            env?: {
                [key: string]: string;
            } | null;
            metadata?: components["schemas"]["Metadata"] | null;
            /**
             * Format: int64
             * @description How many seconds it lives.
             */
            timeout_s?: number | null;
            /** @description Pause it, do not end it, when its lifetime has passed. */
            auto_pause?: boolean | null;
            limits?: components["schemas"]["NewLimits"] | null;
            network?: components["schemas"]["NewNetwork"] | null;
        };
        /** @description Starts a lifetime anew. */
        NewTimeout: {
            /**
             * Format: int64
             * @description How many seconds it lives from now on.
             */
            timeout_s: number;
        };
        /**
         * @description How it ended.
         * @enum {string}
         */
        Outcome: "done" | "denied";
        /** @description A page of a list. */
        Page_AuditView: {
            /** @description What is on it. */
            items: {
                /**
                 * Format: int64
                 * @description Its number.
                 */
                id: number;
                /**
                 * Format: date-time
                 * @description When.
                 */
                at: string;
                /** @description Who. */
                actor: components["schemas"]["Actor"];
                /** @description What, such as `sandbox.create`. */
                action: string;
                /** @description To what. */
                subject?: string | null;
                /** @description From where. */
                origin?: string | null;
                /** @description How it ended. */
                outcome: components["schemas"]["Outcome"];
                /** @description More, when there is more to say. */
                detail?: string | null;
            }[];
            /** @description Asks for the next page, when there is one. */
            next?: string | null;
        };
        /** @description A page of a list. */
        Page_KeyView: {
            /** @description What is on it. */
            items: {
                /** @description Its name, for good. */
                id: components["schemas"]["KeyId"];
                /** @description What people call it. */
                name: string;
                /** @description What it may do. */
                role: components["schemas"]["Role"];
                agent_id?: components["schemas"]["AgentId"] | null;
                sandbox_id?: components["schemas"]["SandboxId"] | null;
                /** @description The beginning of its secret. */
                prefix: string;
                /**
                 * Format: date-time
                 * @description When it was minted.
                 */
                created_at: string;
                created_by?: components["schemas"]["KeyId"] | null;
                /**
                 * Format: date-time
                 * @description When it was last shown, to the minute.
                 */
                last_used_at?: string | null;
                /**
                 * Format: date-time
                 * @description From when on it is void.
                 */
                expires_at?: string | null;
                /**
                 * Format: date-time
                 * @description When it was ended.
                 */
                revoked_at?: string | null;
                /**
                 * Format: int64
                 * @description Counts its changes.
                 */
                revision: number;
            }[];
            /** @description Asks for the next page, when there is one. */
            next?: string | null;
        };
        /** @description A page of a list. */
        Page_ProviderView: {
            /** @description What is on it. */
            items: {
                /** @description Its name. */
                name: components["schemas"]["ProviderName"];
                /** @description The levels of isolation it offers. */
                isolation: components["schemas"]["Isolation"][];
                /** @description The templates it knows. */
                templates: components["schemas"]["TemplateName"][];
                /** @description What it can do beyond create and destroy. */
                abilities: string[];
                /** @description `node` when its sandboxes live on one node, `anywhere` when every node reaches them. */
                reach: string;
                /** @description What is missing for more, as sentences. */
                missing: string[];
                /** @description Whether it is asked at all. */
                breaker: components["schemas"]["BreakerView"];
            }[];
            /** @description Asks for the next page, when there is one. */
            next?: string | null;
        };
        /**
         * @description Where a sandbox is.
         * @enum {string}
         */
        Phase: "requested" | "preparing" | "ready" | "paused" | "closing" | "gone" | "failed";
        /** @description Why a request was not done. */
        Problem: {
            /** @description A stable name of this kind of problem, such as `/problems/not-found`. */
            type: string;
            /** @description What kind of problem it is, in a few words. */
            title: string;
            /**
             * Format: int32
             * @description The HTTP status.
             */
            status: number;
            /** @description What happened this time, as a sentence. */
            detail: string;
            /** @description What to do about it. */
            hint?: string | null;
            /** @description The fields that were not accepted. */
            errors?: components["schemas"]["FieldProblem"][];
            /** @description Finds this request in the log. */
            request_id?: string | null;
        };
        /** @description Names a provider: a place where sandboxes live. */
        ProviderName: string;
        /** @description A provider. */
        ProviderView: {
            /** @description Its name. */
            name: components["schemas"]["ProviderName"];
            /** @description The levels of isolation it offers. */
            isolation: components["schemas"]["Isolation"][];
            /** @description The templates it knows. */
            templates: components["schemas"]["TemplateName"][];
            /** @description What it can do beyond create and destroy. */
            abilities: string[];
            /** @description `node` when its sandboxes live on one node, `anywhere` when every node reaches them. */
            reach: string;
            /** @description What is missing for more, as sentences. */
            missing: string[];
            /** @description Whether it is asked at all. */
            breaker: components["schemas"]["BreakerView"];
        };
        /**
         * @description Whether the server can work, in one word.
         * @enum {string}
         */
        Readiness: "ready" | "degraded" | "draining" | "unavailable";
        /** @description Whether the server can work. */
        ReadinessView: {
            /** @description In one word. */
            status: components["schemas"]["Readiness"];
            /** @description The database: `ok`, or what is wrong with it. */
            database: string;
            /** @description The providers and their breakers. */
            providers: components["schemas"]["ProviderView"][];
        };
        /**
         * @description The name of an authority.
         * @enum {string}
         */
        Role: "admin" | "member" | "agent" | "sandbox";
        /** @description Names a sandbox: twenty characters as E2B has them, safe in host names, paths and branch names. */
        SandboxId: string;
        /** @description A page of sandboxes, with the place in the journal to follow from. */
        SandboxPage: {
            /** @description What is on it, newest first. */
            items: components["schemas"]["SandboxView"][];
            /** @description Asks for the next page, when there is one. */
            next?: string | null;
            /** @description Follow the events after this cursor and nothing is missed. */
            as_of: components["schemas"]["Cursor"];
        };
        /** @description A sandbox. */
        SandboxView: {
            /** @description Its name, for good. */
            id: components["schemas"]["SandboxId"];
            /** @description Where it is. */
            phase: components["schemas"]["Phase"];
            /** @description Where people want it. */
            want: components["schemas"]["Want"];
            /** @description Where it is, in four words known from elsewhere, and `starting`. */
            status: components["schemas"]["Status"];
            /** @description Why it is where it is, when that needs a sentence. */
            note?: string | null;
            /** @description What it starts from. */
            template: components["schemas"]["TemplateName"];
            /** @description Where it lives. */
            provider: components["schemas"]["ProviderName"];
            /** @description How strongly it is kept apart. */
            isolation: components["schemas"]["Isolation"];
            agent_id?: components["schemas"]["AgentId"] | null;
            task_id?: components["schemas"]["TaskId"] | null;
            /** @description The names of its environment variables. Their values are never shown. */
            env_names: string[];
            /** @description What the user wrote on it. */
            metadata: {
                [key: string]: string;
            };
            /** @description How much it may use. */
            limits: components["schemas"]["Limits"];
            /** @description Whom it may talk to. */
            network: components["schemas"]["Network"];
            /**
             * Format: int64
             * @description How long it lives after it was asked for, resumed or extended.
             */
            timeout_s: number;
            /** @description Whether it is paused, not ended, when its lifetime has passed. */
            auto_pause: boolean;
            /** @description The key that asked for it. */
            created_by: components["schemas"]["KeyId"];
            /**
             * Format: date-time
             * @description When it was asked for.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it last changed.
             */
            updated_at: string;
            /**
             * Format: date-time
             * @description When it was first ready.
             */
            ready_at?: string | null;
            /**
             * Format: date-time
             * @description When its lifetime has passed; absent once it is over.
             */
            expires_at?: string | null;
            ended?: components["schemas"]["EndedView"] | null;
            /**
             * Format: int32
             * @description How often the present step has failed so far.
             */
            attempts: number;
            /**
             * Format: date-time
             * @description When it is tried again.
             */
            next_attempt_at?: string | null;
            /**
             * Format: int64
             * @description Counts its changes: of two views, the one with the higher number is newer.
             */
            revision: number;
        };
        /** @description Signs a browser in: by the code of a sign-in link, or by a key. */
        SignIn: {
            /** @description The code of a sign-in link. It works once. */
            code: string;
        } | {
            /** @description A key. */
            key: string;
        };
        /** @description A link that signs one browser in, once. */
        SignInLink: {
            /** @description The path of the link, with its code in the fragment; put the server's address before it. */
            path: string;
            /**
             * Format: date-time
             * @description When it is void.
             */
            expires_at: string;
        };
        /** @description The answer to a sign-in. */
        SignedIn: {
            /** @description Who is signed in now. */
            bearer: components["schemas"]["Bearer"];
        };
        /**
         * @description Where a sandbox is, in words known from elsewhere.
         * @enum {string}
         */
        Status: "starting" | "running" | "paused" | "error" | "stopped";
        /**
         * Format: int64
         * @description Names a task: a whole number, counted from one.
         */
        TaskId: number;
        /** @description Names a template: what a sandbox starts from. */
        TemplateName: string;
        /**
         * @description Where people want it to be.
         * @enum {string}
         */
        Want: "ready" | "paused" | "gone";
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
