/** Written by `npm run types` from openapi.json. Do not edit. */

export interface paths {
    "/api/v1/agents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the agents: those that came with the house, and those that were added. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The agents. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Page_AgentView"];
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
        /** Adds an agent, or changes the one of that name. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["NewAgent"];
                };
            };
            responses: {
                /** @description It is there. */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AgentView"];
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
    "/api/v1/agents/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows an agent. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    name: components["schemas"]["AgentId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The agent. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AgentView"];
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
        /** Forgets an agent that was added. */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    name: components["schemas"]["AgentId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description It is gone. */
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
        /** Changes a part of an agent. */
        patch: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    name: components["schemas"]["AgentId"];
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["AgentChange"];
                };
            };
            responses: {
                /** @description The agent as it now is. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["AgentView"];
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
        trace?: never;
    };
    "/api/v1/areas": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists who has claimed what in a repository. */
        get: {
            parameters: {
                query: {
                    /** @description The repository. */
                    repo: components["schemas"]["RepoName"];
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The claims. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Page_AreaView"];
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
                    /** @description Of these kinds, separated by commas: `sandbox`, `key`, `provider`, `template`, `repo`, `push`, `pull`, `base`. */
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
    "/api/v1/hooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the hooks, and how each stands. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description All hooks. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Page_HookView"];
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
        /** Adds a hook. The answer shows its secret, this once. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["NewHook"];
                };
            };
            responses: {
                /** @description The hook and its secret. */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["HookAdded"];
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
    "/api/v1/hooks/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows a hook. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: components["schemas"]["HookId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The hook. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["HookView"];
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
        /** Removes a hook and its secret. */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: components["schemas"]["HookId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description It is gone. */
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
    "/api/v1/hooks/{id}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Delivers everything after a place of the journal once more; without a place, what is stuck is tried now. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: components["schemas"]["HookId"];
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["NewReplay"];
                };
            };
            responses: {
                /** @description The hook, as it goes on. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["HookView"];
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
    "/api/v1/hooks/{id}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Delivers a letter of the type `test`, once and now. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: components["schemas"]["HookId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description How that went. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Delivery"];
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
        /** Changes the name or the role of a key; what is left out stays. The last good admin key stays one. */
        patch: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: components["schemas"]["KeyId"];
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["KeyChange"];
                };
            };
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
        trace?: never;
    };
    "/api/v1/keys/{id}/link": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Makes a link that signs one browser in, once, as the holder of this key: how a new member comes in without seeing a key. */
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
    "/api/v1/nodes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the servers that are this house. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description All nodes, the oldest first. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Page_NodeView"];
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
    "/api/v1/nodes/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows a node. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: components["schemas"]["NodeId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The node. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["NodeView"];
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
        /** Forgets a node that does not come back. */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: components["schemas"]["NodeId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description It is gone, and what lived on it. */
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
    "/api/v1/nodes/{id}/drain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Empties a node: nothing new is put on it, and tasks that are on it go on elsewhere. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: components["schemas"]["NodeId"];
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["NewDrain"];
                };
            };
            responses: {
                /** @description The node, as it goes on. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["NodeView"];
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
    "/api/v1/notices": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** How a browser subscribes to notices, and which ones of the asker's did. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The house's public key, and the browsers. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["NoticesView"];
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
        /** Subscribes a browser: it is told when a card needs somebody, and only then. The same one twice is one. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["NewSubscription"];
                };
            };
            responses: {
                /** @description It will be told. */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["SubscriptionView"];
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
    "/api/v1/notices/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Leaves a browser in peace. */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: string;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description It is not told any more. */
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
    "/api/v1/prune": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Forgets sandboxes that are long gone, and removes checkouts that nobody stands on. For admins. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["NewPrune"] | null;
                };
            };
            responses: {
                /** @description What went. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["PrunedView"];
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
    "/api/v1/pulls": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists pull requests as they were last seen, newest first. */
        get: {
            parameters: {
                query?: {
                    /** @description Of this repository. */
                    repo?: components["schemas"]["RepoName"];
                    /** @description `open`, `merged`, `closed` or `all`; all when left out. */
                    state?: "open" | "merged" | "closed" | "all";
                    /** @description Of this branch. */
                    head?: components["schemas"]["Branch"];
                    /** @description At most so many items. */
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
                /** @description A page of pull requests. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Page_PullView"];
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
        /** Opens a pull request, or brings the open one of the same branch to what is asked for. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["NewPull"];
                };
            };
            responses: {
                /** @description The pull request. */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["PullView"];
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
    "/api/v1/pulls/{repo}/{number}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows a pull request as it now is. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    repo: components["schemas"]["RepoName"];
                    number: number;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The pull request. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["PullView"];
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
    "/api/v1/pulls/{repo}/{number}/auto_merge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Asks that a pull request be merged by itself once nothing stands in the way: here by the lane, at a forge outside by
         *     that forge.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    repo: components["schemas"]["RepoName"];
                    number: number;
                };
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["NewAutoMerge"] | null;
                };
            };
            responses: {
                /** @description The pull request; it may be merged already. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["PullView"];
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
        /** Takes it back that a pull request is to be merged by itself. */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    repo: components["schemas"]["RepoName"];
                    number: number;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The pull request. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["PullView"];
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
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/pulls/{repo}/{number}/checks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists what programs found out about the head of a pull request. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    repo: components["schemas"]["RepoName"];
                    number: number;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The checks. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Page_CheckView"];
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
    "/api/v1/pulls/{repo}/{number}/close": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Closes a pull request without merging it. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    repo: components["schemas"]["RepoName"];
                    number: number;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description It is closed. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["PullView"];
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
    "/api/v1/pulls/{repo}/{number}/comments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists what was said at a pull request, on lines and in general, the oldest first. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    repo: components["schemas"]["RepoName"];
                    number: number;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The comments. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Page_CommentView"];
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
        /** Says something at a pull request: with `path` and `line`, to a line of its diff. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    repo: components["schemas"]["RepoName"];
                    number: number;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["NewPullComment"];
                };
            };
            responses: {
                /** @description It was said. */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["CommentView"];
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
    "/api/v1/pulls/{repo}/{number}/diff": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows what a pull request changes, as a unified diff against its base: all of it, or the files that are named. */
        get: {
            parameters: {
                query?: {
                    /** @description Only this file; said again, more of them, up to 100. One that was moved is named by both of its paths. */
                    path?: string[];
                    /** @description Whether a file that was moved is told as one, where files are named; `true` when left out. */
                    renames?: boolean;
                };
                header?: never;
                path: {
                    repo: components["schemas"]["RepoName"];
                    number: number;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The diff. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/x-diff": string;
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
    "/api/v1/pulls/{repo}/{number}/diff/files": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Lists the files that a pull request changes, without their lines, in the order of the diff. One whose branch was never
         *     fetched, because it is somebody else's copy of the repository, is answered with a conflict: its diff is known whole.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    repo: components["schemas"]["RepoName"];
                    number: number;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The files. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Page_DiffFileView"];
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
    "/api/v1/pulls/{repo}/{number}/draft": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Says that a pull request is still being worked on: nobody merges a draft. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    repo: components["schemas"]["RepoName"];
                    number: number;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description It is a draft. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["PullView"];
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
    "/api/v1/pulls/{repo}/{number}/merge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Merges a pull request, one at a time for each base, after the check of the repository passed on the merged result.
         *     A second time finds it merged. A refusal names its gate in `type`: `merge-conflicts`, `merge-checks-failed`,
         *     `merge-not-approved`, `merge-head-moved`, `merge-waits`, `merge-closed` or `merge-upstream`.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    repo: components["schemas"]["RepoName"];
                    number: number;
                };
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["NewMerge"] | null;
                };
            };
            responses: {
                /** @description It is merged. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["PullView"];
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
    "/api/v1/pulls/{repo}/{number}/ready": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Says that a pull request is ready to be reviewed and merged: it is no draft any more. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    repo: components["schemas"]["RepoName"];
                    number: number;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description It is no draft. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["PullView"];
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
    "/api/v1/pulls/{repo}/{number}/reopen": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Opens a pull request again that was closed. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    repo: components["schemas"]["RepoName"];
                    number: number;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description It is open. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["PullView"];
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
    "/api/v1/pulls/{repo}/{number}/reviews": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists what people think of a pull request, the oldest first. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    repo: components["schemas"]["RepoName"];
                    number: number;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The reviews. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Page_ReviewView"];
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
        /** Judges a pull request. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    repo: components["schemas"]["RepoName"];
                    number: number;
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["NewPullReview"];
                };
            };
            responses: {
                /** @description The review. */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ReviewView"];
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
    "/api/v1/quotas": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Says what the bearer and every repository may have, and how much of it is used; an admin sees it for every key. What
         *     has no quota is left out.
         */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The quotas. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Page_QuotaView"];
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
    "/api/v1/repos": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the repositories, by name. */
        get: {
            parameters: {
                query?: {
                    /** @description At most so many items. */
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
                /** @description The repositories. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Page_RepoView"];
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
        /** Adds a repository. The events tell when it is `ready`. The same one twice is one. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["NewRepo"];
                };
            };
            responses: {
                /** @description It is there, or being fetched. */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["RepoView"];
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
    "/api/v1/repos/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows a repository. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    name: components["schemas"]["RepoName"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The repository. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["RepoView"];
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
        /** Removes a repository, with its mirror. What was pushed to it stays written down. */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    name: components["schemas"]["RepoName"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description It is gone. */
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
        /** Changes what is wanted of a repository; what is left out stays. */
        patch: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    name: components["schemas"]["RepoName"];
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["RepoChange"];
                };
            };
            responses: {
                /** @description The repository. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["RepoView"];
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
        trace?: never;
    };
    "/api/v1/repos/{name}/pushes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists what was pushed to a repository, newest first, with the verdicts. */
        get: {
            parameters: {
                query?: {
                    /** @description At most so many items. */
                    limit?: number;
                    /** @description The `next` of the page before. */
                    cursor?: string;
                };
                header?: never;
                path: {
                    name: components["schemas"]["RepoName"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The pushes. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Page_PushView"];
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
    "/api/v1/repos/{name}/sync": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Brings a repository up to date with its upstream, and answers when it is. Many who ask at once share one fetch. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    name: components["schemas"]["RepoName"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description It is up to date. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["RepoView"];
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
    "/api/v1/repos/{name}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Asks the repository's forge who we are there and what our credential lacks. Changes nothing. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    name: components["schemas"]["RepoName"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description What it answered. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["RepoFitness"];
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
        /**
         * Asks for a sandbox. It is born `requested`; the events tell when it is `ready`. With `exec` the answer waits until the
         *     sandbox is ready and the command has ended; with `Accept: text/event-stream` it tells of `sandbox`, and then of `start`,
         *     `stdout`, `stderr` and `end` as they happen. Where the command cannot be started, no sandbox is left.
         */
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
                        "application/json": components["schemas"]["SandboxCreated"];
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
                        "application/json": components["schemas"]["SandboxDetail"];
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
    "/api/v1/sandboxes/{id}/execs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the execs of a sandbox, newest first. */
        get: {
            parameters: {
                query?: {
                    /** @description At most so many execs: 1 to 1000, 100 when left out. */
                    limit?: number;
                    /** @description The `next` of the page before. */
                    cursor?: string;
                };
                header?: never;
                path: {
                    id: components["schemas"]["SandboxId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description A page of execs. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Page_ExecView"];
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
    "/api/v1/sandboxes/{id}/execs/{exec_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows an exec. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: components["schemas"]["SandboxId"];
                    exec_id: components["schemas"]["ExecId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The exec. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["ExecView"];
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
    "/api/v1/sandboxes/{id}/execs/{exec_id}/close_stdin": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Says that no more input comes. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: components["schemas"]["SandboxId"];
                    exec_id: components["schemas"]["ExecId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description It is closed. */
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
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sandboxes/{id}/execs/{exec_id}/input": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Writes to the standard input of an exec, or to its terminal: the body, as it is. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: components["schemas"]["SandboxId"];
                    exec_id: components["schemas"]["ExecId"];
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/octet-stream": number[];
                };
            };
            responses: {
                /** @description It was written. */
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
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sandboxes/{id}/execs/{exec_id}/output": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Reads what an exec printed, both streams in the order in which they came: bytes, or events with
         *     `Accept: text/event-stream`.
         */
        get: {
            parameters: {
                query?: {
                    /** @description Begin at this byte; at the first when left out. */
                    offset?: number;
                    /** @description Go on until nothing more will come. Events always do. */
                    follow?: boolean;
                };
                header?: never;
                path: {
                    id: components["schemas"]["SandboxId"];
                    exec_id: components["schemas"]["ExecId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description What it printed. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/octet-stream": number[];
                        "text/event-stream": components["schemas"]["Piece"];
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
    "/api/v1/sandboxes/{id}/execs/{exec_id}/resize": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Gives the terminal of an exec another size. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: components["schemas"]["SandboxId"];
                    exec_id: components["schemas"]["ExecId"];
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["ExecSize"];
                };
            };
            responses: {
                /** @description It has that size. */
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
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sandboxes/{id}/execs/{exec_id}/signal": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Sends a signal to an exec. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: components["schemas"]["SandboxId"];
                    exec_id: components["schemas"]["ExecId"];
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["ExecSignal"];
                };
            };
            responses: {
                /** @description It was sent. */
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
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sandboxes/{id}/execute": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Runs a command and answers when it has ended; with `background`, as soon as it runs. With `Accept: text/event-stream` it
         *     tells of `start`, `stdout`, `stderr` and `end` as they happen. A client that goes away does not end the command.
         */
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
                    "application/json": components["schemas"]["NewExec"];
                };
            };
            responses: {
                /** @description How it went. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Executed"];
                        "text/event-stream": components["schemas"]["Piece"];
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
    "/api/v1/sandboxes/{id}/files": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Downloads a file. A directory comes as a tar archive. */
        get: {
            parameters: {
                query: {
                    /** @description The path inside. One that does not begin with `/` is taken from the user's home. */
                    path: string;
                    /** @description As whom; the usual user of the sandbox when left out. */
                    user?: string;
                };
                header?: never;
                path: {
                    id: components["schemas"]["SandboxId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The bytes. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/octet-stream": number[];
                        "application/x-tar": number[];
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
        /** Uploads a file; its parents are made. With `extract=tar`, unpacks the body into a directory. */
        put: {
            parameters: {
                query: {
                    /** @description The path inside. */
                    path: string;
                    /** @description As whom; the usual user of the sandbox when left out. */
                    user?: string;
                    /** @description With `tar`: the body is unpacked into the directory `path`, which is made when it is missing. */
                    extract?: "tar";
                };
                header?: never;
                path: {
                    id: components["schemas"]["SandboxId"];
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/octet-stream": number[];
                };
            };
            responses: {
                /** @description It was written. */
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
        post?: never;
        /** Removes a file, or a directory with all that is in it. */
        delete: {
            parameters: {
                query: {
                    /** @description The path inside. One that does not begin with `/` is taken from the user's home. */
                    path: string;
                    /** @description As whom; the usual user of the sandbox when left out. */
                    user?: string;
                };
                header?: never;
                path: {
                    id: components["schemas"]["SandboxId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description It is removed. */
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
        /** Looks at a file without reading it. */
        head: {
            parameters: {
                query: {
                    /** @description The path inside. One that does not begin with `/` is taken from the user's home. */
                    path: string;
                    /** @description As whom; the usual user of the sandbox when left out. */
                    user?: string;
                };
                header?: never;
                path: {
                    id: components["schemas"]["SandboxId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description It is there; headers say what it is. */
                200: {
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
        patch?: never;
        trace?: never;
    };
    "/api/v1/sandboxes/{id}/files/list": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists a directory. */
        get: {
            parameters: {
                query: {
                    /** @description The directory inside. */
                    path: string;
                    /** @description As whom; the usual user of the sandbox when left out. */
                    user?: string;
                    /** @description How deep: 1 to 64, 1 when left out. */
                    depth?: number;
                };
                header?: never;
                path: {
                    id: components["schemas"]["SandboxId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description What is in it. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Page_FileEntry"];
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
    "/api/v1/sandboxes/{id}/fork": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Makes copies of a sandbox as it is now. */
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
                path: {
                    id: components["schemas"]["SandboxId"];
                };
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["NewFork"] | null;
                };
            };
            responses: {
                /** @description The copies. */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Page_SandboxView"];
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
    "/api/v1/sandboxes/{id}/hosts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Lets a sandbox reach more hosts than before. */
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
                    "application/json": components["schemas"]["MoreHosts"];
                };
            };
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
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sandboxes/{id}/logs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Tells what happened to a sandbox, oldest first: what was asked of it, how it went, what ran in it. */
        get: {
            parameters: {
                query?: {
                    /** @description Go on with what happens, as events named `line`. */
                    follow?: boolean;
                };
                header?: never;
                path: {
                    id: components["schemas"]["SandboxId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description What happened. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Page_LogLine"];
                        "text/event-stream": components["schemas"]["LogLine"];
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
    "/api/v1/sandboxes/{id}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Asks for a sandbox to be paused. One that is paused may be asked to sleep deeper. */
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
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["NewPause"] | null;
                };
            };
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
    "/api/v1/sandboxes/{id}/port_link": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Makes a link that opens a port in a browser, with an origin of its own: for pages that want cookies, storage or workers, as an
         *     editor does. Something must listen there.
         */
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
                    "application/json": components["schemas"]["NewPortLink"];
                };
            };
            responses: {
                /** @description The link. */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["PortLink"];
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
    "/api/v1/sandboxes/{id}/refused": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the hosts that a sandbox was not let through to, newest first: the last 64 since the server began. */
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
                /** @description The hosts. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Page_RefusedHost"];
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
    "/api/v1/sandboxes/{id}/snapshot": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Keeps a sandbox as it is now, as a template that others start from. It goes on undisturbed. */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description Repeating the request with the same key makes one thing. */
                    "Idempotency-Key"?: string | null;
                };
                path: {
                    id: components["schemas"]["SandboxId"];
                };
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["NewSnapshot"] | null;
                };
            };
            responses: {
                /** @description The template. */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TemplateView"];
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
    "/api/v1/sandboxes/{id}/stats": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows what a sandbox uses, and what goes on in it. */
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
                /** @description What it uses now. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["StatsView"];
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
    "/api/v1/sandboxes/{id}/terminal": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Opens a terminal over a WebSocket, or sits down at one again. */
        get: {
            parameters: {
                query?: {
                    /** @description Columns: 80 when left out. */
                    cols?: number;
                    /** @description Rows: 24 when left out. */
                    rows?: number;
                    /** @description What to run, as a line for the shell; a login shell when left out. */
                    cmd?: string;
                    /** @description As whom. */
                    user?: string;
                    /** @description Where. */
                    cwd?: string;
                    /** @description Sit down at this terminal again. */
                    exec_id?: components["schemas"]["ExecId"];
                    /** @description With `exec_id`: begin at this byte of its transcript; with the last it showed when left out. */
                    offset?: number;
                };
                header?: never;
                path: {
                    id: components["schemas"]["SandboxId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description A WebSocket. */
                101: {
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
        put?: never;
        post?: never;
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
    "/api/v1/sandboxes/{id}/tunnel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Opens a raw line to a port: after the answer, bytes both ways. Ask with `Connection: Upgrade` and
         *     `Upgrade: carrel-tunnel`.
         */
        get: {
            parameters: {
                query: {
                    /** @description The port that something inside listens on. */
                    port: number;
                };
                header?: never;
                path: {
                    id: components["schemas"]["SandboxId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The line. */
                101: {
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
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/secrets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the secrets by name, without their values. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description All secrets. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Page_SecretView"];
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
        /** Sets a secret, or gives it a new value, which counts at once. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["NewSecret"];
                };
            };
            responses: {
                /** @description The secret, without its value. */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["SecretView"];
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
    "/api/v1/secrets/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows that there is a secret, without its value. */
        get: {
            parameters: {
                query?: {
                    /** @description The repository it is for; the whole house when left out. */
                    repo?: string;
                };
                header?: never;
                path: {
                    name: components["schemas"]["SecretName"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The secret. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["SecretView"];
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
        /** Removes a secret. */
        delete: {
            parameters: {
                query?: {
                    /** @description The repository it is for; the whole house when left out. */
                    repo?: string;
                };
                header?: never;
                path: {
                    name: components["schemas"]["SecretName"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description It is gone. */
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
    "/api/v1/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists sessions, newest first: those that the key may see. Those of tasks are shown with their tasks. */
        get: {
            parameters: {
                query?: {
                    /** @description At most so many: 1 to 1000, 100 when left out. */
                    limit?: number;
                    /** @description The `next` of the page before. */
                    cursor?: string;
                    /** @description In this phase; all but `closed` when left out. */
                    phase?: components["schemas"]["SessionPhase"];
                    /** @description Of this agent. */
                    agent?: components["schemas"]["AgentId"];
                    /** @description With this repository. */
                    repo?: components["schemas"]["RepoName"];
                    /** @description In which something holds this text. */
                    q?: string;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description A page of sessions. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Page_SessionView"];
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
        /** Begins a session and asks for its desk at once: its `sandbox_id` is in the answer. */
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
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["NewSession"] | null;
                };
            };
            responses: {
                /** @description It is open. */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["SessionView"];
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
    "/api/v1/sessions/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows a session. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: components["schemas"]["SessionId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The session. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["SessionView"];
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
        /** Ends a session, and its desk with it. */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: components["schemas"]["SessionId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description It is closed. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["SessionView"];
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
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{id}/diff": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What a session changed since it began, as a patch: all of it, or the files that are named. */
        get: {
            parameters: {
                query?: {
                    /** @description From this checkpoint on, by its place in the timeline; from the base when left out. */
                    from?: number;
                    /** @description Up to this checkpoint; up to the newest work when left out. */
                    to?: number;
                    /** @description Only this file; said again, more of them, up to 100. One that was moved is named by both of its paths. */
                    path?: string[];
                    /** @description Whether a file that was moved is told as one, where files are named; `true` when left out. */
                    renames?: boolean;
                };
                header?: never;
                path: {
                    id: components["schemas"]["SessionId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The difference. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/x-diff": string;
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
    "/api/v1/sessions/{id}/diff/files": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the files that a session changed since it began, without their lines, in the order of the patch. */
        get: {
            parameters: {
                query?: {
                    /** @description From this checkpoint on, by its place in the timeline; from the base when left out. */
                    from?: number;
                    /** @description Up to this checkpoint; up to the newest work when left out. */
                    to?: number;
                };
                header?: never;
                path: {
                    id: components["schemas"]["SessionId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The files. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Page_DiffFileView"];
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
    "/api/v1/sessions/{id}/fork": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Begins another session that goes on from a checkpoint: with its files, and with what was said until then. */
        post: {
            parameters: {
                query?: never;
                header?: {
                    /** @description Repeating the request with the same key makes one thing. */
                    "Idempotency-Key"?: string | null;
                };
                path: {
                    id: components["schemas"]["SessionId"];
                };
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["NewSessionFork"] | null;
                };
            };
            responses: {
                /** @description The other session. */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["SessionView"];
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
    "/api/v1/sessions/{id}/interrupt": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Breaks off the answer in flight and answers when it is over; what the agent did so far stays. With a text, that is what
         *     it reads next.
         */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: components["schemas"]["SessionId"];
                };
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["NewInterruption"] | null;
                };
            };
            responses: {
                /** @description The session. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["SessionView"];
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
    "/api/v1/sessions/{id}/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What was said and done, oldest first; with `q` what holds a text, newest first. */
        get: {
            parameters: {
                query?: {
                    /** @description At most so many: 1 to 1000, 100 when left out. */
                    limit?: number;
                    /** @description After this place, or the `next` of the page before. */
                    cursor?: number;
                    /** @description What holds this text, newest first. */
                    q?: string;
                };
                header?: never;
                path: {
                    id: components["schemas"]["SessionId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description A part of the timeline. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Timeline"];
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
        /** Says something. The answer comes as moments. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: components["schemas"]["SessionId"];
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["NewMessage"];
                };
            };
            responses: {
                /** @description It was said. */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Moment"];
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
    "/api/v1/sessions/{id}/open": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Opens a sandbox with the files of a checkpoint, to look around in. */
        post: {
            parameters: {
                query?: {
                    /** @description The place of a checkpoint on the timeline. */
                    from?: number;
                    /** @description Answer only when the sandbox is in this phase; the header `Carrel-Waited` says how the wait ended. */
                    wait?: components["schemas"]["Phase"];
                    /** @description Seconds to wait at most: 1 to 600, 60 when left out. */
                    timeout?: number;
                };
                header?: never;
                path: {
                    id: components["schemas"]["SessionId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The sandbox. */
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
    "/api/v1/sessions/{id}/sandbox": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows the desk of a session. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: components["schemas"]["SessionId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The desk. */
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
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{id}/sandbox/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Lets the desk of a session sleep. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: components["schemas"]["SessionId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The desk. */
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
    "/api/v1/sessions/{id}/sandbox/provision": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Makes sure that a session has a desk. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: components["schemas"]["SessionId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The desk. */
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
    "/api/v1/sessions/{id}/sandbox/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Wakes the desk of a session. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: components["schemas"]["SessionId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The desk. */
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
    "/api/v1/sessions/{id}/sandbox/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows how the desk of a session is: the same as `…/sandbox`, beside the verbs. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: components["schemas"]["SessionId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The desk. */
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
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{id}/task": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Writes a card that goes on from a checkpoint, with its files and with what was said until then: so the work of a session
         *     becomes a pull request.
         */
        post: {
            parameters: {
                query?: {
                    /** @description Answer only when the task is in this phase, or will not come there by itself; `Carrel-Waited` says how it ended. */
                    wait?: components["schemas"]["TaskPhase"];
                    /** @description Seconds to wait at most: 1 to 600, 60 when left out. */
                    timeout?: number;
                };
                header?: {
                    /** @description Repeating the request with the same key makes one thing. */
                    "Idempotency-Key"?: string | null;
                };
                path: {
                    id: components["schemas"]["SessionId"];
                };
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["NewSessionTask"] | null;
                };
            };
            responses: {
                /** @description It was written. */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TaskView"];
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
    "/api/v1/tasks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists tasks, newest first: those that the key may see. */
        get: {
            parameters: {
                query?: {
                    /** @description At most so many: 1 to 1000, 100 when left out. */
                    limit?: number;
                    /** @description The `next` of the page before. */
                    cursor?: string;
                    /** @description In one of these phases, with commas between them; in any when left out. */
                    phase?: string;
                    /** @description In this repository. */
                    repo?: components["schemas"]["RepoName"];
                    /** @description Of this agent. */
                    agent?: components["schemas"]["AgentId"];
                    /** @description With this label. */
                    label?: string;
                    /** @description With these words in its title or its prompt, whatever their case. */
                    text?: string;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description A page of tasks. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TaskPage"];
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
        /** Writes a card. With `start` it is queued at once. */
        post: {
            parameters: {
                query?: {
                    /** @description Answer only when the task is in this phase, or will not come there by itself; `Carrel-Waited` says how it ended. */
                    wait?: components["schemas"]["TaskPhase"];
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
            requestBody: {
                content: {
                    "application/json": components["schemas"]["NewTask"];
                };
            };
            responses: {
                /** @description It was written. */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TaskView"];
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
    "/api/v1/tasks/bulk": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Asks the same of up to 200 tasks. The answer has one line for each, in the order of `ids`: the task, or the problem. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["NewBulk"];
                };
            };
            responses: {
                /** @description How it went with each of them. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Page_BulkAnswer"];
                    };
                };
                /** @description Nobody was asked. */
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
    "/api/v1/tasks/import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Takes in a task from another house: a new card with its past, at rest. What is over there is closed here, and kept. */
        post: {
            parameters: {
                query?: {
                    /** @description The repository that it goes to; the one of the same name when left out. */
                    repo?: components["schemas"]["RepoName"];
                    /** @description Who goes on with it; whoever did it in the other house when left out. */
                    agent?: components["schemas"]["AgentId"];
                    /** @description Somebody works on it at once. */
                    start?: boolean;
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/x-tar": number[];
                };
            };
            responses: {
                /** @description It is here. */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TaskView"];
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
    "/api/v1/tasks/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows a task. */
        get: {
            parameters: {
                query?: {
                    /** @description Answer only when the task is in this phase, or will not come there by itself; `Carrel-Waited` says how it ended. */
                    wait?: components["schemas"]["TaskPhase"];
                    /** @description Seconds to wait at most: 1 to 600, 60 when left out. */
                    timeout?: number;
                };
                header?: never;
                path: {
                    id: components["schemas"]["TaskId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The task. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TaskView"];
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
        /** Changes what is written on a card; what is left out stays. */
        patch: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: components["schemas"]["TaskId"];
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["TaskChange"];
                };
            };
            responses: {
                /** @description The task. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TaskView"];
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
        trace?: never;
    };
    "/api/v1/tasks/{id}/ask": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Asks a person something on behalf of a task that is worked on. The card needs somebody when the turn ends. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: components["schemas"]["TaskId"];
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["NewQuestion"];
                };
            };
            responses: {
                /** @description The task. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TaskView"];
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
    "/api/v1/tasks/{id}/claims": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Claims files or directories of a repository for a task, for a time. What another task has claimed is refused. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: components["schemas"]["TaskId"];
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["NewClaim"];
                };
            };
            responses: {
                /** @description The claim. */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Claim"];
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
    "/api/v1/tasks/{id}/claims/{token}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Gives up a claim. */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: components["schemas"]["TaskId"];
                    token: number;
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description It is given up. */
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
    "/api/v1/tasks/{id}/close": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ends a task without merging it. What was done is kept for a while. */
        post: {
            parameters: {
                query?: {
                    /** @description Answer only when the task is in this phase, or will not come there by itself; `Carrel-Waited` says how it ended. */
                    wait?: components["schemas"]["TaskPhase"];
                    /** @description Seconds to wait at most: 1 to 600, 60 when left out. */
                    timeout?: number;
                };
                header?: never;
                path: {
                    id: components["schemas"]["TaskId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The task. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TaskView"];
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
    "/api/v1/tasks/{id}/diff": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What a task changes against its base, as a patch: all of it, or the files that are named. */
        get: {
            parameters: {
                query?: {
                    /** @description From this checkpoint on, by its place in the timeline; from the base when left out. */
                    from?: number;
                    /** @description Up to this checkpoint; up to the newest work when left out. */
                    to?: number;
                    /** @description Only this file; said again, more of them, up to 100. One that was moved is named by both of its paths. */
                    path?: string[];
                    /** @description Whether a file that was moved is told as one, where files are named; `true` when left out. */
                    renames?: boolean;
                };
                header?: never;
                path: {
                    id: components["schemas"]["TaskId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The difference. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/x-diff": string;
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
    "/api/v1/tasks/{id}/diff/files": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the files that a task changes against its base, without their lines, in the order of the patch. */
        get: {
            parameters: {
                query?: {
                    /** @description From this checkpoint on, by its place in the timeline; from the base when left out. */
                    from?: number;
                    /** @description Up to this checkpoint; up to the newest work when left out. */
                    to?: number;
                };
                header?: never;
                path: {
                    id: components["schemas"]["TaskId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The files. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Page_DiffFileView"];
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
    "/api/v1/tasks/{id}/done": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Looks whether anything is missing before a task can become a pull request. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: components["schemas"]["TaskId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description What is missing. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["DoneView"];
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
    "/api/v1/tasks/{id}/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Downloads a task with its timeline and all its work, as a tar archive. It stays where it is. */
        get: {
            parameters: {
                query?: {
                    /** @description All of its history goes along, for a house whose repository does not have the commit that it began at. */
                    whole?: boolean;
                };
                header?: never;
                path: {
                    id: components["schemas"]["TaskId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The parcel. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/x-tar": number[];
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
    "/api/v1/tasks/{id}/fork": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Asks for other attempts at a task. They begin at once. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: components["schemas"]["TaskId"];
                };
                cookie?: never;
            };
            requestBody?: {
                content: {
                    "application/json": components["schemas"]["NewAttempts"] | null;
                };
            };
            responses: {
                /** @description The attempts. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Page_TaskView"];
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
    "/api/v1/tasks/{id}/judge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Lets a command score the attempts at a task: the task and its forks. It answers when all are judged. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: components["schemas"]["TaskId"];
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["NewJudgement"];
                };
            };
            responses: {
                /** @description The scores, the first attempt first. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Page_ScoreView"];
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
    "/api/v1/tasks/{id}/merge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Puts a task into its base, through the merge lane. */
        post: {
            parameters: {
                query?: {
                    /** @description Answer only when the task is in this phase, or will not come there by itself; `Carrel-Waited` says how it ended. */
                    wait?: components["schemas"]["TaskPhase"];
                    /** @description Seconds to wait at most: 1 to 600, 60 when left out. */
                    timeout?: number;
                };
                header?: never;
                path: {
                    id: components["schemas"]["TaskId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The task. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TaskView"];
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
    "/api/v1/tasks/{id}/message": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Says something to the agent of a task. One that rests goes on with it. */
        post: {
            parameters: {
                query?: {
                    /** @description Answer only when the task is in this phase, or will not come there by itself; `Carrel-Waited` says how it ended. */
                    wait?: components["schemas"]["TaskPhase"];
                    /** @description Seconds to wait at most: 1 to 600, 60 when left out. */
                    timeout?: number;
                };
                header?: never;
                path: {
                    id: components["schemas"]["TaskId"];
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["NewMessage"];
                };
            };
            responses: {
                /** @description The task. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TaskView"];
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
    "/api/v1/tasks/{id}/move": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Moves a task to another provider: its saved work, its branch and its timeline go with it. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: components["schemas"]["TaskId"];
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/json": components["schemas"]["NewMove"];
                };
            };
            responses: {
                /** @description The task, as it goes on. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TaskView"];
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
    "/api/v1/tasks/{id}/open": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Opens a sandbox with the files of a checkpoint, to look around in. */
        post: {
            parameters: {
                query?: {
                    /** @description The place of a checkpoint on the timeline. */
                    from?: number;
                    /** @description Answer only when the sandbox is in this phase; the header `Carrel-Waited` says how the wait ended. */
                    wait?: components["schemas"]["Phase"];
                    /** @description Seconds to wait at most: 1 to 600, 60 when left out. */
                    timeout?: number;
                };
                header?: never;
                path: {
                    id: components["schemas"]["TaskId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The sandbox. */
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
    "/api/v1/tasks/{id}/overlap": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows with whom a task will conflict, and what others have claimed in its repository. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: components["schemas"]["TaskId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description Who else is at the same place. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["OverlapView"];
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
    "/api/v1/tasks/{id}/promote": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Chooses one of several attempts: the others are closed, and what they did is kept. */
        post: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: components["schemas"]["TaskId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The attempts that are archived. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Page_TaskId"];
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
    "/api/v1/tasks/{id}/pull": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows the pull request of a task. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: components["schemas"]["TaskId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The pull request. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["PullView"];
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
    "/api/v1/tasks/{id}/pull/checks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the checks of the pull request of a task. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: components["schemas"]["TaskId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The checks. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Page_CheckView"];
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
    "/api/v1/tasks/{id}/pull/comments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists what was said at the pull request of a task, the oldest first. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    id: components["schemas"]["TaskId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The comments. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Page_CommentView"];
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
    "/api/v1/tasks/{id}/rebase": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Puts the branch of a task onto its newest base. */
        post: {
            parameters: {
                query?: {
                    /** @description Answer only when the task is in this phase, or will not come there by itself; `Carrel-Waited` says how it ended. */
                    wait?: components["schemas"]["TaskPhase"];
                    /** @description Seconds to wait at most: 1 to 600, 60 when left out. */
                    timeout?: number;
                };
                header?: never;
                path: {
                    id: components["schemas"]["TaskId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The task. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TaskView"];
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
    "/api/v1/tasks/{id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Tries again what did not work. */
        post: {
            parameters: {
                query?: {
                    /** @description Answer only when the task is in this phase, or will not come there by itself; `Carrel-Waited` says how it ended. */
                    wait?: components["schemas"]["TaskPhase"];
                    /** @description Seconds to wait at most: 1 to 600, 60 when left out. */
                    timeout?: number;
                };
                header?: never;
                path: {
                    id: components["schemas"]["TaskId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The task. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TaskView"];
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
    "/api/v1/tasks/{id}/start": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Lets somebody work on a task: it is queued. */
        post: {
            parameters: {
                query?: {
                    /** @description Answer only when the task is in this phase, or will not come there by itself; `Carrel-Waited` says how it ended. */
                    wait?: components["schemas"]["TaskPhase"];
                    /** @description Seconds to wait at most: 1 to 600, 60 when left out. */
                    timeout?: number;
                };
                header?: never;
                path: {
                    id: components["schemas"]["TaskId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The task. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TaskView"];
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
    "/api/v1/tasks/{id}/stop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Stops whoever works on a task. What was done stays, and `start` goes on with it. */
        post: {
            parameters: {
                query?: {
                    /** @description Answer only when the task is in this phase, or will not come there by itself; `Carrel-Waited` says how it ended. */
                    wait?: components["schemas"]["TaskPhase"];
                    /** @description Seconds to wait at most: 1 to 600, 60 when left out. */
                    timeout?: number;
                };
                header?: never;
                path: {
                    id: components["schemas"]["TaskId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The task. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TaskView"];
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
    "/api/v1/tasks/{id}/timeline": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What was said and done for a task, oldest first. */
        get: {
            parameters: {
                query?: {
                    /** @description At most so many: 1 to 1000, 100 when left out. */
                    limit?: number;
                    /** @description After this place, or the `next` of the page before. */
                    cursor?: number;
                    /** @description What holds this text, newest first. */
                    q?: string;
                };
                header?: never;
                path: {
                    id: components["schemas"]["TaskId"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description A part of the timeline. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Timeline"];
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
    "/api/v1/templates": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the templates, by name. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The templates. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["Page_TemplateView"];
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
        /** Asks for a template. The events tell when it is `ready`; its log tells how it goes. */
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
                    "application/json": components["schemas"]["NewTemplate"];
                };
            };
            responses: {
                /** @description It is being made. */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TemplateView"];
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
    "/api/v1/templates/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows a template. */
        get: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    /** @description With `%2F` for `/`. */
                    name: components["schemas"]["TemplateName"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The template. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TemplateView"];
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
        /** Forgets a template. Sandboxes that live on it are not disturbed. */
        delete: {
            parameters: {
                query?: never;
                header?: never;
                path: {
                    name: components["schemas"]["TemplateName"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description It is forgotten. */
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
    "/api/v1/templates/{name}/content": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Asks for a template from what is uploaded. */
        put: {
            parameters: {
                query: {
                    /** @description What the body is. */
                    kind: "archive" | "recipe";
                    /** @description With `recipe`: where the recipe is in the archive; `Recipefile` when left out. */
                    file?: string;
                    /** @description Where it is made; the usual provider when left out. */
                    provider?: components["schemas"]["ProviderName"];
                };
                header?: never;
                path: {
                    name: components["schemas"]["TemplateName"];
                };
                cookie?: never;
            };
            requestBody: {
                content: {
                    "application/x-tar": number[];
                };
            };
            responses: {
                /** @description It is being made. */
                201: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["TemplateView"];
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
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/templates/{name}/log": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Tells how the making of a template went, or goes: text, or events with `Accept: text/event-stream`. */
        get: {
            parameters: {
                query?: {
                    /** @description Begin at this byte; at the first when left out. */
                    offset?: number;
                    /** @description Go on until nothing more will come. Events always do. */
                    follow?: boolean;
                };
                header?: never;
                path: {
                    name: components["schemas"]["TemplateName"];
                };
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The log. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "text/plain": string;
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
    "/api/v1/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Adds up what models were used for and what it cost. */
        get: {
            parameters: {
                query?: {
                    /** @description Of this task. */
                    task_id?: number;
                    /** @description Of this session. */
                    session_id?: string;
                    /** @description Of this sandbox. */
                    sandbox_id?: components["schemas"]["SandboxId"];
                    /** @description Of this agent. */
                    agent?: components["schemas"]["AgentId"];
                    /** @description From this moment on. */
                    since?: string;
                    /** @description Before this moment. */
                    until?: string;
                    /** @description What it is added up by; days when left out. */
                    by?: components["schemas"]["UsageBy"];
                };
                header?: never;
                path?: never;
                cookie?: never;
            };
            requestBody?: never;
            responses: {
                /** @description The sums. */
                200: {
                    headers: {
                        [name: string]: unknown;
                    };
                    content: {
                        "application/json": components["schemas"]["UsageView"];
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
        /** @description What goes on in a sandbox. */
        Activity: {
            /**
             * Format: date-time
             * @description When something last happened; absent when nothing has since the server started.
             */
            last_active_at?: string | null;
            /**
             * Format: int32
             * @description Commands that run.
             */
            execs: number;
            /**
             * Format: int32
             * @description Terminals at which somebody sits.
             */
            terminals: number;
            /**
             * Format: int32
             * @description Open connections to its ports.
             */
            ports: number;
        };
        /** @description Who did something. */
        Actor: {
            key_id?: components["schemas"]["KeyId"] | null;
            /** @description Its name, or `nobody`, or `carrel`. */
            name: string;
            role?: components["schemas"]["Role"] | null;
        };
        /** @description Changes an agent without saying the rest of it again. */
        AgentChange: {
            /** @default null */
            commands?: components["schemas"]["CommandRulesChange"] | null;
            /** @default null */
            network?: components["schemas"]["NewNetwork"] | null;
        };
        /** @description Names an agent. */
        AgentId: string;
        /** @description An agent. */
        AgentView: {
            /** @description Its name. */
            name: components["schemas"]["AgentId"];
            /** @description How it is started and read. */
            dialect: components["schemas"]["DialectName"];
            /** @description What it is, in a sentence. */
            about: string;
            /** @description What is run, when it is not the dialect's own program. */
            command?: string | null;
            /** @description The names of its environment variables. Their values are never shown. */
            env_names: string[];
            /** @description The model that it asks for. */
            model?: string | null;
            template?: components["schemas"]["TemplateName"] | null;
            /**
             * Format: int64
             * @description How many of its tasks may work at the same time.
             */
            at_once?: number | null;
            /** @description How an agent of dialect `custom` is run and read, as data. */
            phrases?: Record<string, never> | null;
            /** @description Whether the tools of its desk are offered to it. */
            mcp?: boolean;
            /** @description What may be run at its desks when somebody asks for it from outside. */
            commands?: components["schemas"]["CommandRules"];
            /** @description Whom its desks may talk to when a card or a session does not say. */
            network?: components["schemas"]["Network"];
            /** @description It came with the house. */
            built_in: boolean;
            /** @description Whether its program is installed on this host. */
            found: boolean;
            /** @description How to get it, when it is not there. */
            hint?: string | null;
            /** @description A recipe for a template with its program in it, on top of `host`; nothing when we do not know how to install it. */
            recipe?: string | null;
            /** @description It was removed: this entry is the last of it. */
            removed?: boolean;
        };
        /** @description A file or a directory of a repository, from its root: `src/lib.rs`, `docs/`, or `.` for all of it. */
        AreaPath: string;
        /** @description A claim, with whose it is. */
        AreaView: components["schemas"]["Claim"] & {
            /** @description The task. */
            task_id: components["schemas"]["TaskId"];
            /** @description What it is called. */
            title: string;
            /** @description Who works on it. */
            agent: components["schemas"]["AgentId"];
        };
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
        /** @description Certificates of authorities, as PEM. */
        Authorities: string;
        /** @description A branch that others are merged into, and where it went. */
        BaseView: {
            /** @description The repository. */
            repo: components["schemas"]["RepoName"];
            /** @description The branch. */
            branch: components["schemas"]["Branch"];
            commit?: components["schemas"]["CommitId"] | null;
            before?: components["schemas"]["CommitId"] | null;
            /** @description Whether its history was rewritten: where it was is no ancestor of where it is. */
            rewritten: boolean;
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
        /** @description The name of a branch, without `refs/heads/`. */
        Branch: string;
        /** @description How the branches of tasks are named, with `{id}` for the number: `task-{id}`, `agents/{id}`. */
        BranchFormat: string;
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
         * @description How a budget stands.
         * @enum {string}
         */
        BudgetState: "warning" | "spent";
        /** @description A budget that is running out, or has. */
        BudgetView: {
            task_id?: components["schemas"]["TaskId"] | null;
            /** @description How it stands. */
            state: components["schemas"]["BudgetState"];
            /** @description What was spent. */
            spent_usd: components["schemas"]["Dollars"];
            /** @description What may be spent. */
            budget_usd: components["schemas"]["Dollars"];
            /** @description A sentence about it, with what can be done. */
            note: string;
            /**
             * Format: date-time
             * @description From when on it counts, for the budget of a day.
             */
            since?: string | null;
        };
        /** @description How it went with one of them: the task as it now is, or why not. */
        BulkAnswer: {
            /** @description Its number. */
            id: components["schemas"]["TaskId"];
            task?: components["schemas"]["TaskView"] | null;
            problem?: components["schemas"]["Problem"] | null;
        };
        /**
         * @description What is asked of each of them.
         * @enum {string}
         */
        BulkVerb: "start" | "stop" | "retry" | "rebase" | "merge" | "close" | "message" | "set";
        /**
         * @description What a check comes to.
         * @enum {string}
         */
        CheckState: "skipped" | "passed" | "pending" | "failed";
        /** @description What one program found out about a commit. */
        CheckView: {
            /** @description What it calls itself. */
            name: string;
            /** @description What it comes to. */
            state: components["schemas"]["CheckState"];
            /** @description A sentence about it. */
            summary?: string | null;
            /** @description Where its log can be read. */
            url?: string | null;
            /**
             * Format: date-time
             * @description When it last changed.
             */
            at?: string | null;
        };
        /** @description A claim of a task. */
        Claim: {
            /**
             * Format: int64
             * @description Tells it apart from every other; larger than that of every earlier claim.
             */
            token: number;
            /** @description What is claimed. */
            paths: components["schemas"]["AreaPath"][];
            /**
             * Format: date-time
             * @description When it ends by itself.
             */
            until: string;
        };
        /** @description A pattern that a command fits or does not: `git push **`. */
        CommandPattern: string;
        /** @description What may be run when somebody asks for it from outside. Nothing in it: everything. */
        CommandRules: {
            /**
             * @description Only what fits one of these may be run, when there are any.
             * @default []
             */
            allow?: components["schemas"]["CommandPattern"][];
            /**
             * @description What fits one of these may not be run.
             * @default []
             */
            deny?: components["schemas"]["CommandPattern"][];
        };
        /** @description Changes what may be run when somebody asks for it; what is left out stays, an empty list lifts it. */
        CommandRulesChange: {
            /**
             * @description Only what fits one of these may be run, such as `git **`; at most 100.
             * @default null
             */
            allow?: components["schemas"]["CommandPattern"][] | null;
            /**
             * @description What fits one of these may not be run, such as `git push **`; at most 100.
             * @default null
             */
            deny?: components["schemas"]["CommandPattern"][] | null;
        };
        /** @description Something that was said at a pull request. */
        CommentView: {
            /** @description Its name at the forge. */
            id: string;
            /** @description Who said it. */
            author: string;
            /** @description What was said. */
            body: string;
            /** @description The file it is about, when it is about one. */
            path?: string | null;
            /**
             * Format: int32
             * @description The line of that file; nothing when the line is gone from the diff by now.
             */
            line?: number | null;
            side?: components["schemas"]["Side"] | null;
            commit?: components["schemas"]["CommitId"] | null;
            /** @description What it is known by, when it was said through Carrel. */
            stamp?: string | null;
            /** @description Where people look at it. */
            url: string;
            /**
             * Format: date-time
             * @description When it was said.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it was last changed.
             */
            updated_at: string;
        };
        /** @description Names a commit, or any object: 40 hexadecimal digits. */
        CommitId: string;
        /** @description A task with which this one will conflict, or with which it shares files. */
        Conflict: {
            task_id?: components["schemas"]["TaskId"] | null;
            /** @description The paths. */
            paths: string[];
        };
        /**
         * Format: int64
         * @description A place in the journal. Entries have the cursors 1, 2, 3, … without a gap, in the order of their commits.
         */
        Cursor: number;
        /** @description How a try to deliver went. */
        Delivery: {
            /**
             * Format: date-time
             * @description When.
             */
            at: string;
            /**
             * Format: int64
             * @description The entry; nothing for a test.
             */
            cursor?: number | null;
            /**
             * Format: int32
             * @description The status of the answer, if there was one.
             */
            status?: number | null;
            /** @description What was wrong. */
            error?: string | null;
            /**
             * Format: int64
             * @description How long it took.
             */
            took_ms: number;
        };
        /** @description Something that must happen before a task starts. */
        Dependency: {
            /** @description The other task. */
            task_id: components["schemas"]["TaskId"];
            /** @description How far it must be: `merged` when left out. */
            until?: components["schemas"]["Until"];
        };
        /**
         * @description How deep a paused sandbox sleeps. Each depth frees more than the one before and takes longer to come back from.
         * @enum {string}
         */
        Depth: "frozen" | "paged_out" | "stored" | "files";
        /** @description A desk at a checkpoint. */
        DeskState: {
            /** @description Which sandbox it was. */
            sandbox_id: components["schemas"]["SandboxId"];
            /** @description Where it was in its life. */
            phase: components["schemas"]["Phase"];
            /** @description Where it lived. */
            provider: components["schemas"]["ProviderName"];
            /** @description What it started from. */
            template: components["schemas"]["TemplateName"];
            /** @description How strongly it was kept apart. */
            isolation: components["schemas"]["Isolation"];
        };
        /** @description Names a dialect: how a kind of agent is started and what it prints. */
        DialectName: string;
        /** @description A file of a diff, without its lines. */
        DiffFileView: {
            /** @description Where it is, or was when it is removed. */
            path: string;
            /** @description Where it was, when it was moved. */
            old_path?: string | null;
            /** @description What became of it. */
            status: components["schemas"]["FileStatus"];
            /**
             * Format: int64
             * @description How many lines came.
             */
            additions: number;
            /**
             * Format: int64
             * @description How many lines went.
             */
            deletions: number;
            /** @description Whether it is no text: then nobody counts its lines. */
            binary: boolean;
            /** @description What it was, as git names it; nothing when it is new. */
            old_id?: string | null;
            /** @description What it is, as git names it; nothing when it is removed. */
            new_id?: string | null;
            /** @description What kind of file it was, such as `100644`. */
            old_mode?: string | null;
            /** @description What kind of file it is. */
            new_mode?: string | null;
        };
        /**
         * Format: double
         * @description Money, in millionths of a dollar. Outside it is written in dollars.
         */
        Dollars: number;
        /** @description Whether a task is done, as the house sees it: computed, not claimed. */
        DoneView: {
            /** @description Nothing is missing on the agent's side: it may end its turn. */
            done: boolean;
            /** @description What is missing, a sentence each. */
            missing: string[];
            head?: components["schemas"]["CommitId"] | null;
            /**
             * Format: int32
             * @description How many commits the base has not.
             */
            ahead: number;
            /**
             * Format: date-time
             * @description When this was looked at.
             */
            at: string;
        };
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
        /** @description Names an exec, and so its transcript. */
        ExecId: string;
        /** @description Sends a signal. */
        ExecSignal: {
            /**
             * Format: int64
             * @description Its number, such as 2 for an interrupt, 15 to ask for the end and 9 to end at once.
             */
            signal: number;
            /** @description Whether everything that it started gets it too: its whole process group. */
            group?: boolean;
        };
        /** @description The size of a terminal. */
        ExecSize: {
            /**
             * Format: int64
             * @description Columns.
             */
            cols: number;
            /**
             * Format: int64
             * @description Rows.
             */
            rows: number;
        };
        /**
         * @description How an exec stands.
         * @enum {string}
         */
        ExecStatus: "running" | "ended" | "lost";
        /** @description A command in a sandbox. */
        ExecView: {
            /** @description Its name. */
            exec_id: components["schemas"]["ExecId"];
            /** @description Where it runs. */
            sandbox_id: components["schemas"]["SandboxId"];
            /** @description What was asked for. */
            command: string;
            /** @description As whom, when somebody was named. */
            user?: string | null;
            /** @description Where, when a folder was named. */
            cwd?: string | null;
            /** @description Whether nobody waits for it. */
            background: boolean;
            /** @description Whether it has a terminal. */
            terminal: boolean;
            /**
             * Format: int32
             * @description The number of its process inside.
             */
            pid?: number | null;
            /** @description How it stands. */
            status: components["schemas"]["ExecStatus"];
            /**
             * Format: int32
             * @description How it ended, as shells count; 124 when its time was up.
             */
            exit_code?: number | null;
            /** @description Whether it was ended because its time was up. */
            timed_out: boolean;
            /** @description How it ended, in a word or two. */
            note?: string | null;
            /** @description The key that asked for it. */
            created_by: components["schemas"]["KeyId"];
            /**
             * Format: date-time
             * @description When it was started.
             */
            started_at: string;
            /**
             * Format: date-time
             * @description When it ended, or was lost.
             */
            ended_at?: string | null;
        };
        /** @description How a command went. */
        Executed: {
            /** @description Names it, and its transcript. */
            exec_id: components["schemas"]["ExecId"];
            /**
             * Format: int32
             * @description How it ended, as shells count; 124 when its time was up. Absent while it runs.
             */
            exit_code?: number | null;
            /** @description What it wrote to its standard output, up to 10 MiB. Bytes that are no UTF-8 are replaced. */
            stdout: string;
            /** @description What it wrote to its standard error, up to 10 MiB. */
            stderr: string;
            /**
             * Format: int64
             * @description How long it took, or has taken so far.
             */
            duration_ms: number;
            /** @description Whether it was ended because its time was up. */
            timed_out: boolean;
            /** @description Whether there is more output than this; `GET …/output` has it. */
            truncated?: boolean;
            /** @description How it stands. */
            status: components["schemas"]["ExecStatus"];
            /** @description How it ended, in a word or two. */
            note?: string | null;
        };
        /** @description A SOCKS5 proxy, called outside of the sandbox, which knows nothing of it. */
        ExitProxy: {
            /** @description Where it listens. */
            address: components["schemas"]["ProxyAddress"];
            username?: components["schemas"]["ProxyWord"] | null;
            password?: components["schemas"]["ProxyWord"] | null;
            tls?: components["schemas"]["ExitTls"] | null;
        };
        /** @description How a proxy is called by TLS. */
        ExitTls: {
            server_name?: components["schemas"]["ServerName"] | null;
            authorities?: components["schemas"]["Authorities"] | null;
        };
        /** @description Why a field was not accepted. */
        FieldProblem: {
            /** @description The field, with dots for depth: `limits.cpus`. */
            field: string;
            /** @description What is wrong and what is allowed, as a sentence. */
            detail: string;
        };
        /** @description A file in a sandbox. */
        FileEntry: {
            /** @description Its name. */
            name: string;
            /** @description Its whole path. */
            path: string;
            /** @description What it is; of a link, what it leads to. */
            kind: components["schemas"]["FileKind"];
            /**
             * Format: int64
             * @description Bytes.
             */
            size: number;
            /** @description The permission bits, such as `0644`. */
            mode: string;
            /** @description Whose it is. */
            owner: string;
            /** @description And which group's. */
            group: string;
            /**
             * Format: date-time
             * @description When it last changed.
             */
            modified_at?: string | null;
            /** @description Where it leads, when it is a link. */
            symlink_target?: string | null;
        };
        /**
         * @description What a file is.
         * @enum {string}
         */
        FileKind: "file" | "directory" | "other";
        /**
         * @description What became of a file.
         * @enum {string}
         */
        FileStatus: "added" | "modified" | "removed" | "renamed";
        /**
         * @description What a template is made from.
         * @enum {string}
         */
        From: "host" | "debian" | "image" | "archive" | "recipe";
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
        } | {
            /** @description As it now is. */
            template: components["schemas"]["TemplateView"];
            /** @enum {string} */
            kind: "template";
        } | {
            /** @description As it now is. */
            repo: components["schemas"]["RepoView"];
            /** @enum {string} */
            kind: "repo";
        } | {
            /** @description What, and the verdict on it. */
            push: components["schemas"]["PushView"];
            /** @enum {string} */
            kind: "push";
        } | {
            /** @description As it now is. */
            task: components["schemas"]["TaskView"];
            /** @enum {string} */
            kind: "task";
        } | {
            /** @description As it now is. */
            session: components["schemas"]["SessionView"];
            /** @enum {string} */
            kind: "session";
        } | {
            /** @description The conversation. */
            session_id: components["schemas"]["SessionId"];
            /** @description Whose desk it is. */
            agent: components["schemas"]["AgentId"];
            task_id?: components["schemas"]["TaskId"] | null;
            /** @description What. One that was told before with the same `seq` is told again when it is complete. */
            moment: components["schemas"]["Moment"];
            /** @enum {string} */
            kind: "moment";
        } | {
            /** @description As it now is. */
            agent: components["schemas"]["AgentView"];
            /** @enum {string} */
            kind: "agent";
        } | {
            /** @description As it now is. */
            pull: components["schemas"]["PullView"];
            /** @description What is new beside it. */
            news?: components["schemas"]["PullNews"][];
            /** @enum {string} */
            kind: "pull";
        } | {
            /** @description Where it is, and where it was. */
            base: components["schemas"]["BaseView"];
            /** @enum {string} */
            kind: "base";
        } | {
            /** @description As it now is. */
            budget: components["schemas"]["BudgetView"];
            /** @enum {string} */
            kind: "budget";
        };
        /** @description A hook that was added, with the secret that its deliveries are signed with. It is shown this once. */
        HookAdded: {
            /** @description The hook. */
            hook: components["schemas"]["HookView"];
            /** @description `whsec_` and the key, in base64. */
            secret: string;
        };
        /** @description Names a hook: an address that hears what happens. */
        HookId: string;
        /**
         * @description How a hook stands.
         * @enum {string}
         */
        HookStatus: "active" | "failing" | "stopped";
        /** @description Where a hook is called: an address of the web without a name or password in it. */
        HookUrl: string;
        /** @description A hook. */
        HookView: {
            /** @description Its name. */
            id: components["schemas"]["HookId"];
            /** @description Where it is called. */
            url: components["schemas"]["HookUrl"];
            /** @description What it wants to hear. */
            events: components["schemas"]["Topic"][];
            /** @description How it stands: `active`, `failing` or `stopped`. */
            status: components["schemas"]["HookStatus"];
            /**
             * Format: int64
             * @description The last entry of the journal that it needs no more.
             */
            cursor: number;
            /**
             * Format: int64
             * @description How many entries were delivered.
             */
            delivered: number;
            /**
             * Format: int32
             * @description How often the present entry could not be delivered.
             */
            failures: number;
            /**
             * Format: date-time
             * @description When it is tried again.
             */
            next_attempt_at?: string | null;
            /** @description Why nothing is delivered any more. */
            note?: string | null;
            last?: components["schemas"]["Delivery"] | null;
            /** @description Who added it. */
            created_by: components["schemas"]["KeyId"];
            /**
             * Format: date-time
             * @description When.
             */
            created_at: string;
        };
        /** @description A host that may be reached: a name, `*.name`, or either with a port; or a range of addresses. */
        HostRule: string;
        /**
         * @description How strongly a sandbox is kept apart from the host and from its neighbours.
         * @enum {string}
         */
        Isolation: "none" | "namespace" | "gvisor" | "microvm" | "e2b";
        /** @description Changes who holds a key, or what they may do; what is left out stays. */
        KeyChange: {
            /**
             * @description What people call it from now on: 1 to 64 characters.
             * @default null
             */
            name?: string | null;
            /** @default null */
            role?: components["schemas"]["Role"] | null;
        };
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
        /** @description One line of what happened to a sandbox. */
        LogLine: {
            /**
             * Format: date-time
             * @description When.
             */
            at: string;
            /** @description What, as a sentence. */
            text: string;
            exec_id?: components["schemas"]["ExecId"] | null;
        };
        /**
         * @description How a branch is put onto its base.
         * @enum {string}
         */
        MergeStyle: "merge" | "squash" | "rebase";
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
        /** @description One thing that was said or done at a desk: a line of its timeline. */
        Moment: {
            /**
             * Format: int64
             * @description Its place, counted from one without a gap.
             */
            seq: number;
            /**
             * Format: date-time
             * @description When.
             */
            at: string;
            /**
             * Format: int32
             * @description The turn that it belongs to; 0 before the first.
             */
            turn: number;
            /** @description What it is. */
            kind: components["schemas"]["MomentKind"];
            /** @description Whose it is. */
            role: components["schemas"]["Voice"];
            /** @description What was said, or a sentence about what was done. */
            text: string;
            /** @description It is still being said: the same place is told again, with more of it, and at last without this. */
            unfinished?: boolean;
            tool?: components["schemas"]["ToolUse"] | null;
            commit?: components["schemas"]["CommitId"] | null;
            /** @description The paths that are different since the checkpoint before. */
            files?: string[];
            /**
             * Format: double
             * @description What was spent up to here, in dollars.
             */
            cost_usd?: number | null;
            desk?: components["schemas"]["DeskState"] | null;
        };
        /**
         * @description What a moment is.
         * @enum {string}
         */
        MomentKind: "message" | "thought" | "tool" | "question" | "checkpoint" | "note";
        /** @description Lets a sandbox reach more hosts than before. */
        MoreHosts: {
            /** @description The hosts, such as `example.org`, `*.example.org` or `example.org:443`. */
            allow: string[];
        };
        /** @description Why somebody must look at a task. */
        Needs: {
            /** @description In a word. */
            reason: components["schemas"]["NeedsReason"];
            /** @description In a sentence. */
            detail: string;
        };
        /**
         * @description Why somebody must look, in a word.
         * @enum {string}
         */
        NeedsReason: "question" | "nothing_changed" | "agent_failed" | "desk_failed" | "push_refused" | "forge_failed" | "conflict" | "checks_failed" | "budget" | "dependency" | "repo";
        /** @description Whom a sandbox may talk to. */
        Network: {
            /** @description How open it is. */
            mode: components["schemas"]["NetworkMode"];
            /** @description With mode `allow`: the hosts that may be reached. With mode `open`: those that may be reached although they are denied. */
            allow: components["schemas"]["HostRule"][];
            /** @description With mode `open`: the addresses that may not be reached. */
            deny?: string[];
            /** @description Headers that are put into requests on their way out, by host. What hides a secret is not shown. */
            headers?: {
                [key: string]: {
                    [key: string]: string;
                };
            };
            /** @description With mode `open`: it has a network interface of its own besides the proxy. */
            interface?: boolean;
            proxy?: components["schemas"]["ExitProxy"] | null;
        };
        /**
         * @description How open the network is.
         * @enum {string}
         */
        NetworkMode: "none" | "allow" | "open";
        /** @description Adds an agent, or changes one. */
        NewAgent: {
            /** @description What people call it. */
            name: components["schemas"]["AgentId"];
            /** @description How it is started and read: `shell`, `demo`, `acp`, `claude`, `codex`, `opencode`, … */
            dialect: components["schemas"]["DialectName"];
            /** @description What is run, when it is not the dialect's own program. With `shell`: a line for `sh -c` in the working tree. */
            command?: string | null;
            /** @description Its environment. */
            env?: {
                [key: string]: string;
            } | null;
            /** @description The model that it asks for. */
            model?: string | null;
            template?: components["schemas"]["TemplateName"] | null;
            /**
             * Format: int64
             * @description How many of its tasks may work at the same time.
             */
            at_once?: number | null;
            /** @description How an agent of dialect `custom` is run and read, as data. */
            phrases?: Record<string, never> | null;
            /** @description Whether the tools of its desk are offered to it. */
            mcp?: boolean;
            commands?: components["schemas"]["CommandRules"] | null;
            network?: components["schemas"]["NewNetwork"] | null;
        };
        /** @description Asks for other attempts at a task. */
        NewAttempts: {
            /**
             * Format: int64
             * @description How many: one when left out.
             * @default null
             */
            count?: number | null;
            /**
             * Format: int64
             * @description The moment of the timeline to begin at, which is a checkpoint; the base when left out.
             * @default null
             */
            from?: number | null;
            /** @default null */
            agent?: components["schemas"]["AgentId"] | null;
        };
        /** @description A wish that a pull request be merged by itself. */
        NewAutoMerge: {
            style?: components["schemas"]["MergeStyle"] | null;
        };
        /** @description Asks the same of several tasks. Each is asked for itself: one that refuses does not keep the others. */
        NewBulk: {
            /** @description What is asked. */
            verb: components["schemas"]["BulkVerb"];
            /** @description Of whom: 1 to 200 tasks. One that is named twice is asked once. */
            ids: components["schemas"]["TaskId"][];
            /** @description What is said, with `message`. */
            text?: string | null;
            change?: components["schemas"]["TaskChange"] | null;
        };
        /** @description The working tree that a sandbox begins with. */
        NewCheckout: {
            base?: components["schemas"]["Branch"] | null;
            branch?: components["schemas"]["Branch"] | null;
        };
        /** @description Claims files or directories for a task. */
        NewClaim: {
            /** @description What is claimed: 1 to 64 paths. */
            paths: components["schemas"]["AreaPath"][];
            /**
             * Format: int64
             * @description For how many seconds: 3600 when left out.
             */
            for_s?: number | null;
            /**
             * Format: int64
             * @description The token of an earlier claim that this one takes the place of.
             */
            renews?: number | null;
        };
        /** @description Whether a node is to be emptied. */
        NewDrain: {
            /** @description False takes it back. */
            on?: boolean;
        };
        /** @description Asks for a command to be run. */
        NewExec: {
            /** @description A line for the shell. Either this or `argv`. */
            command?: string | null;
            /** @description A program and its arguments, run as they are. */
            argv?: string[] | null;
            /** @description Where; the usual folder of the user when left out. */
            cwd?: string | null;
            /** @description Variables on top of the sandbox's. */
            env?: {
                [key: string]: string;
            } | null;
            /** @description As whom; the usual user of the sandbox when left out. */
            user?: string | null;
            /** @description What it finds on its standard input, which then ends. */
            stdin?: string | null;
            /** @description Leave its standard input open for `POST …/input`, until `POST …/close_stdin`. */
            keep_stdin?: boolean | null;
            /**
             * Format: int64
             * @description It is ended after so many seconds: 300 when left out; with `background`, never.
             */
            timeout_s?: number | null;
            /** @description Answer as soon as it runs. */
            background?: boolean | null;
            terminal?: components["schemas"]["ExecSize"] | null;
        };
        /** @description Asks for copies of a sandbox. */
        NewFork: {
            /**
             * Format: int64
             * @description How many: 1 to 100, one when left out.
             */
            count?: number | null;
            /** @description Copy the memory of its processes too, where that can be. */
            memory?: boolean | null;
        };
        /** @description Adds a hook. */
        NewHook: {
            /** @description Where it is called. */
            url: components["schemas"]["HookUrl"];
            /** @description What it wants to hear, such as `task`, `task.needs_you`, `pull`; `task` and `pull` when left out. */
            events?: components["schemas"]["Topic"][];
            /**
             * Format: int64
             * @description The place in the journal after which it begins; where the journal is now when left out.
             */
            after?: number | null;
        };
        /** @description Breaks off what the agent is doing. */
        NewInterruption: {
            /**
             * @description What it shall read instead, at once: 1 byte to 256 KiB; nothing when left out.
             * @default null
             */
            text?: string | null;
        };
        /** @description Lets a command judge between the attempts at a task. */
        NewJudgement: {
            /**
             * @description A line for `sh -c` in a sandbox with the attempt's head checked out. The last number that it prints is the score;
             *     without one, an exit code of 0 counts 1 and any other 0.
             */
            command: string;
            /** @description Promote the best one at once: the others are closed. */
            promote?: boolean;
        };
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
        /** @description A merge that is asked for. */
        NewMerge: {
            style?: components["schemas"]["MergeStyle"] | null;
            head?: components["schemas"]["CommitId"] | null;
        };
        /** @description Says something at a desk. */
        NewMessage: {
            role?: components["schemas"]["Voice"] | null;
            /** @description What: 1 byte to 256 KiB. */
            text: string;
        };
        /** @description Where a task is to go on. */
        NewMove: {
            /** @description The provider. */
            provider: components["schemas"]["ProviderName"];
        };
        /** @description Whom a sandbox may talk to. */
        NewNetwork: {
            /** @description How open it is. */
            mode: components["schemas"]["NetworkMode"];
            /** @description With mode `allow`: at most 256 hosts that may be reached. With mode `open` and `deny`: those that may be reached anyway. */
            allow?: components["schemas"]["HostRule"][];
            /** @description With mode `open`: at most 256 addresses and ranges of addresses that may not be reached. */
            deny?: string[];
            /**
             * @description Headers that are put into requests to a host, at most 10 hosts with 20 headers each. `${e2b.secrets.NAME}` stands
             *     for a secret, which never comes into the sandbox.
             */
            headers?: {
                [key: string]: {
                    [key: string]: string;
                };
            };
            /** @description With mode `open`: gives it a network interface of its own, for programs that speak more than TCP or know no proxy. */
            interface?: boolean;
            proxy?: components["schemas"]["ExitProxy"] | null;
        };
        /** @description Asks for a pause. */
        NewPause: {
            depth?: components["schemas"]["Depth"] | null;
        };
        /** @description Asks for a link to a port. */
        NewPortLink: {
            /**
             * Format: int32
             * @description Which port.
             */
            port: number;
            /** @description Whether it is opened in a frame of the board, and not in a tab. */
            frame?: boolean;
        };
        /** @description Asks to carry out what nobody needs any more. */
        NewPrune: {
            /**
             * Format: int64
             * @description Records of sandboxes that are gone for at least so many days: 1 to 36500, 30 when left out.
             * @default null
             */
            older_than_days?: number | null;
            /**
             * @description Only say what would go.
             * @default false
             */
            dry_run?: boolean;
        };
        /** @description A pull request that is asked for. */
        NewPull: {
            /** @description In which repository. */
            repo: components["schemas"]["RepoName"];
            /** @description The branch that is to be merged. */
            head: components["schemas"]["Branch"];
            base?: components["schemas"]["Branch"] | null;
            /** @description What it is to be called: one line. */
            title: string;
            /** @description What it says of itself. */
            body?: string;
            /** @description Whether it is still being worked on. */
            draft?: boolean;
            /** @description Its labels. */
            labels?: string[];
            /** @description Whose review is asked for, by login. */
            reviewers?: string[];
        };
        /** @description Something that is to be said at a pull request. */
        NewPullComment: {
            /** @description What to say. */
            body: string;
            /** @description The file it is about. */
            path?: string | null;
            /**
             * Format: int32
             * @description The line of that file, counted from one.
             */
            line?: number | null;
            side?: components["schemas"]["Side"] | null;
            /**
             * @description What it is known by: with a stamp it is said once, however often it is asked for, and the task's agent is not told
             *     of it; for what it was told already. 1 to 80 lower-case letters, digits, `.`, `_` or single `-`.
             */
            stamp?: string | null;
        };
        /** @description A review that is to be given. */
        NewPullReview: {
            /** @description What it comes to. */
            verdict: components["schemas"]["Verdict"];
            /** @description What it says. Only an approval may say nothing. */
            body?: string;
        };
        /** @description Asks a person something on behalf of a task. */
        NewQuestion: {
            /** @description In one to a few sentences. */
            question: string;
        };
        /** @description Asks for entries once more. */
        NewReplay: {
            /**
             * Format: int64
             * @description The place in the journal after which everything is delivered again; the entry that is stuck is tried at once when
             *     left out.
             * @default null
             */
            after?: number | null;
        };
        /** @description Asks for a repository: one that comes from somewhere, or with `new` one that lives here. */
        NewRepo: {
            /** @default null */
            name?: components["schemas"]["RepoName"] | null;
            /** @default null */
            source?: components["schemas"]["RepoSource"] | null;
            /**
             * @description It begins empty and lives here.
             * @default false
             */
            new?: boolean;
            /** @default null */
            default_branch?: components["schemas"]["Branch"] | null;
            /**
             * @description Where its pull requests are: `embedded`, `github`, `gitea`.
             * @default null
             */
            forge?: string | null;
            /**
             * @description What is run on the merged result before the base moves; empty for nothing.
             * @default null
             */
            check_command?: string | null;
            /** @default null */
            merge?: components["schemas"]["MergeStyle"] | null;
            /** @default null */
            branch_format?: components["schemas"]["BranchFormat"] | null;
            /**
             * @description Branches stay after they were merged.
             * @default null
             */
            keep_branches?: boolean | null;
            /**
             * @description Only paths that fit may be changed by pushes, such as `src/**`.
             * @default null
             */
            allow_paths?: string[] | null;
            /**
             * @description Paths that fit may not be changed by pushes, such as `.github/**`.
             * @default null
             */
            deny_paths?: string[] | null;
            /**
             * @description Secrets in pushes are let by.
             * @default null
             */
            allow_secrets?: boolean | null;
            /**
             * Format: int64
             * @description The largest file that a push may bring, in MiB.
             * @default null
             */
            largest_file_mb?: number | null;
            /** @default null */
            pulls?: components["schemas"]["PullRulesChange"] | null;
            /** @default null */
            commands?: components["schemas"]["CommandRulesChange"] | null;
            /** @default null */
            network?: components["schemas"]["NewNetwork"] | null;
        };
        /** @description Asks for a sandbox. Everything has a default. */
        NewSandbox: {
            template?: components["schemas"]["TemplateName"] | null;
            provider?: components["schemas"]["ProviderName"] | null;
            isolation?: components["schemas"]["Isolation"] | null;
            agent_id?: components["schemas"]["AgentId"] | null;
            task_id?: components["schemas"]["TaskId"] | null;
            repo?: components["schemas"]["RepoName"] | null;
            checkout?: components["schemas"]["NewCheckout"] | null;
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
            /** @description Bring it back by itself when somebody wants something inside while it is paused. */
            auto_resume?: boolean | null;
            /**
             * Format: int64
             * @description Pause it when nothing was active for so many seconds: no command, no terminal, no traffic on a port.
             */
            idle_s?: number | null;
            limits?: components["schemas"]["NewLimits"] | null;
            network?: components["schemas"]["NewNetwork"] | null;
            ports?: components["schemas"]["PortAccess"] | null;
            port_host?: components["schemas"]["PortHost"] | null;
            /** @description The ports on which what listens inside speaks TLS itself, with any certificate: at most 64. */
            tls_ports?: number[] | null;
            pause_depth?: components["schemas"]["Depth"] | null;
            /** @description The volumes that are mounted in it, at most 16. */
            volumes?: components["schemas"]["NewVolumeMount"][] | null;
            exec?: components["schemas"]["NewExec"] | null;
        };
        /** @description Sets a secret, or gives it a new value. */
        NewSecret: {
            /** @description What it is called. */
            name: components["schemas"]["SecretName"];
            repo?: components["schemas"]["RepoName"] | null;
            /** @description Its value. It can be replaced, and never read again. */
            value: string;
        };
        /** @description Begins a session. */
        NewSession: {
            /** @default null */
            agent?: components["schemas"]["AgentId"] | null;
            /** @default null */
            repo?: components["schemas"]["RepoName"] | null;
            /**
             * @description What to call it.
             * @default null
             */
            title?: string | null;
            /**
             * Format: int64
             * @description How many seconds nothing may happen before its desk is paused.
             * @default null
             */
            idle_s?: number | null;
            /** @description Whatever else belongs to it: at most 64 KiB. */
            meta?: Record<string, never> | null;
            /** @default null */
            network?: components["schemas"]["NewNetwork"] | null;
        };
        /** @description Asks for another session that goes on from a checkpoint of one. */
        NewSessionFork: {
            /**
             * Format: int64
             * @description The moment of the timeline to go on from, which is a checkpoint; the newest one when left out.
             * @default null
             */
            from?: number | null;
            /** @default null */
            agent?: components["schemas"]["AgentId"] | null;
            /**
             * @description What to call it; the same when left out.
             * @default null
             */
            title?: string | null;
        };
        /** @description Asks for a task that goes on from a checkpoint of a session. */
        NewSessionTask: {
            /**
             * Format: int64
             * @description The moment of the timeline to go on from, which is a checkpoint; the newest one when left out.
             * @default null
             */
            from?: number | null;
            /**
             * @description In a few words: 1 to 200 characters; what the session is called when left out.
             * @default null
             */
            title?: string | null;
            /**
             * @description What is left to do; to finish what was begun when left out.
             * @default null
             */
            prompt?: string | null;
            /** @default null */
            agent?: components["schemas"]["AgentId"] | null;
            /**
             * @description Begins at once.
             * @default false
             */
            start?: boolean;
        };
        /** @description Asks for a snapshot. */
        NewSnapshot: {
            name?: components["schemas"]["TemplateName"] | null;
            /** @description Keep the memory of its processes too, where that can be. */
            memory?: boolean | null;
        };
        /** @description Asks that a browser be told when a card needs somebody. What the browser gave the page, word for word. */
        NewSubscription: {
            /** @description Where notices for this browser are posted: an address of its maker, by https. */
            endpoint: string;
            /** @description What they are sealed with, so that nobody on the way reads them. */
            keys: components["schemas"]["SubscriptionKeys"];
        };
        /** @description Asks for a change in a repository. */
        NewTask: {
            /** @description Where. */
            repo: components["schemas"]["RepoName"];
            /** @description In a few words: 1 to 200 characters. */
            title: string;
            /** @description In as many words as it takes; the title when left out. */
            prompt?: string | null;
            agent?: components["schemas"]["AgentId"] | null;
            base?: components["schemas"]["Branch"] | null;
            /** @description Begins at once. */
            start?: boolean;
            /**
             * Format: int32
             * @description The higher, the sooner: from -100 to 100.
             */
            priority?: number | null;
            /**
             * Format: date-time
             * @description When it is to be done: of those that are equally urgent, who is due sooner begins first.
             */
            due?: string | null;
            /** @description What to stick on it: at most 32 labels. */
            labels?: string[];
            /** @description What must happen first. */
            depends_on?: components["schemas"]["Dependency"][];
            isolation?: components["schemas"]["Isolation"] | null;
            network?: components["schemas"]["NewNetwork"] | null;
            /**
             * Format: double
             * @description How much may be spent, in dollars.
             */
            budget_usd?: number | null;
        };
        /** @description Asks for a template. */
        NewTemplate: {
            /** @description Its name. One of that name is replaced; sandboxes that live on the old one are not disturbed. */
            name: components["schemas"]["TemplateName"];
            provider?: components["schemas"]["ProviderName"] | null;
            /** @description What it is made from. */
            from: components["schemas"]["From"];
            /** @description With `debian`: the suite, such as `bookworm`. */
            suite?: string | null;
            /** @description With `debian`: packages on top of the smallest system. */
            packages?: string[];
            /** @description With `image`: which one. */
            reference?: string | null;
            /** @description With `image`: who asks, when the registry wants to know. */
            username?: string | null;
            /** @description With `image`: and their password. It is not kept. */
            password?: string | null;
            /** @description With `recipe`: its text. A recipe that copies files comes with them, by `PUT …/content`. */
            recipe?: string | null;
        };
        /** @description Starts a lifetime anew. */
        NewTimeout: {
            /**
             * Format: int64
             * @description How many seconds it lives from now on.
             */
            timeout_s: number;
        };
        /** @description A volume that is to be mounted. */
        NewVolumeMount: {
            /** @description What it is called. */
            name: components["schemas"]["VolumeName"];
            /** @description Where it is to be inside. */
            path: components["schemas"]["VolumePath"];
        };
        /** @description Names one `carrel serve` and its data directory, across restarts. */
        NodeId: string;
        /**
         * @description How a node is.
         * @enum {string}
         */
        NodeState: "up" | "draining" | "away";
        /** @description A server of the house. */
        NodeView: {
            /** @description Its name, for good. */
            id: components["schemas"]["NodeId"];
            /** @description How it is. */
            state: components["schemas"]["NodeState"];
            /** @description Whether it is the one that gives this answer. */
            answers: boolean;
            /** @description Where other nodes reach it. */
            address: string;
            /** @description Which Carrel it runs. */
            version: string;
            /**
             * Format: int32
             * @description Its processors.
             */
            cpus: number;
            /**
             * Format: int64
             * @description Its memory, in MiB.
             */
            memory_mb: number;
            /**
             * Format: int64
             * @description How much of that was free when it was last heard of.
             */
            free_mb: number;
            /**
             * Format: int64
             * @description How many sandboxes live on it, paused ones too.
             */
            sandboxes: number;
            /**
             * Format: date-time
             * @description When this life of it began.
             */
            started_at: string;
            /**
             * Format: date-time
             * @description When it was last heard of.
             */
            seen_at: string;
        };
        /** @description How a browser subscribes, and which ones of the asker's did. */
        NoticesView: {
            /** @description The house's public key, in URL-safe Base64: what a browser calls `applicationServerKey`. */
            public_key: string;
            /** @description The asker's browsers. */
            items: components["schemas"]["SubscriptionView"][];
        };
        /**
         * @description How it ended.
         * @enum {string}
         */
        Outcome: "done" | "denied";
        /** @description What stands between a task and the others of its repository. */
        OverlapView: {
            /** @description With whom it will conflict, as it was foreseen with the last save, push or move of its base. */
            conflicts: components["schemas"]["OverlapWith"][];
            /** @description Who changes the same files, as far as they merge by themselves. */
            shares?: components["schemas"]["OverlapWith"][];
            /** @description What other tasks have claimed in the same repository. */
            claims: components["schemas"]["AreaView"][];
        };
        /** @description Somebody with whom a task will conflict, or shares files. */
        OverlapWith: {
            task_id?: components["schemas"]["TaskId"] | null;
            /** @description What the other one is called; the name of the base when it is the base. */
            title: string;
            agent?: components["schemas"]["AgentId"] | null;
            /** @description The paths. */
            paths: string[];
        };
        /** @description A page of a list. */
        Page_AgentView: {
            /** @description What is on it. */
            items: {
                /** @description Its name. */
                name: components["schemas"]["AgentId"];
                /** @description How it is started and read. */
                dialect: components["schemas"]["DialectName"];
                /** @description What it is, in a sentence. */
                about: string;
                /** @description What is run, when it is not the dialect's own program. */
                command?: string | null;
                /** @description The names of its environment variables. Their values are never shown. */
                env_names: string[];
                /** @description The model that it asks for. */
                model?: string | null;
                template?: components["schemas"]["TemplateName"] | null;
                /**
                 * Format: int64
                 * @description How many of its tasks may work at the same time.
                 */
                at_once?: number | null;
                /** @description How an agent of dialect `custom` is run and read, as data. */
                phrases?: Record<string, never> | null;
                /** @description Whether the tools of its desk are offered to it. */
                mcp?: boolean;
                /** @description What may be run at its desks when somebody asks for it from outside. */
                commands?: components["schemas"]["CommandRules"];
                /** @description Whom its desks may talk to when a card or a session does not say. */
                network?: components["schemas"]["Network"];
                /** @description It came with the house. */
                built_in: boolean;
                /** @description Whether its program is installed on this host. */
                found: boolean;
                /** @description How to get it, when it is not there. */
                hint?: string | null;
                /** @description A recipe for a template with its program in it, on top of `host`; nothing when we do not know how to install it. */
                recipe?: string | null;
                /** @description It was removed: this entry is the last of it. */
                removed?: boolean;
            }[];
            /** @description Asks for the next page, when there is one. */
            next?: string | null;
        };
        /** @description A page of a list. */
        Page_AreaView: {
            /** @description What is on it. */
            items: (components["schemas"]["Claim"] & {
                /** @description The task. */
                task_id: components["schemas"]["TaskId"];
                /** @description What it is called. */
                title: string;
                /** @description Who works on it. */
                agent: components["schemas"]["AgentId"];
            })[];
            /** @description Asks for the next page, when there is one. */
            next?: string | null;
        };
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
        Page_BulkAnswer: {
            /** @description What is on it. */
            items: {
                /** @description Its number. */
                id: components["schemas"]["TaskId"];
                task?: components["schemas"]["TaskView"] | null;
                problem?: components["schemas"]["Problem"] | null;
            }[];
            /** @description Asks for the next page, when there is one. */
            next?: string | null;
        };
        /** @description A page of a list. */
        Page_CheckView: {
            /** @description What is on it. */
            items: {
                /** @description What it calls itself. */
                name: string;
                /** @description What it comes to. */
                state: components["schemas"]["CheckState"];
                /** @description A sentence about it. */
                summary?: string | null;
                /** @description Where its log can be read. */
                url?: string | null;
                /**
                 * Format: date-time
                 * @description When it last changed.
                 */
                at?: string | null;
            }[];
            /** @description Asks for the next page, when there is one. */
            next?: string | null;
        };
        /** @description A page of a list. */
        Page_CommentView: {
            /** @description What is on it. */
            items: {
                /** @description Its name at the forge. */
                id: string;
                /** @description Who said it. */
                author: string;
                /** @description What was said. */
                body: string;
                /** @description The file it is about, when it is about one. */
                path?: string | null;
                /**
                 * Format: int32
                 * @description The line of that file; nothing when the line is gone from the diff by now.
                 */
                line?: number | null;
                side?: components["schemas"]["Side"] | null;
                commit?: components["schemas"]["CommitId"] | null;
                /** @description What it is known by, when it was said through Carrel. */
                stamp?: string | null;
                /** @description Where people look at it. */
                url: string;
                /**
                 * Format: date-time
                 * @description When it was said.
                 */
                created_at: string;
                /**
                 * Format: date-time
                 * @description When it was last changed.
                 */
                updated_at: string;
            }[];
            /** @description Asks for the next page, when there is one. */
            next?: string | null;
        };
        /** @description A page of a list. */
        Page_DiffFileView: {
            /** @description What is on it. */
            items: {
                /** @description Where it is, or was when it is removed. */
                path: string;
                /** @description Where it was, when it was moved. */
                old_path?: string | null;
                /** @description What became of it. */
                status: components["schemas"]["FileStatus"];
                /**
                 * Format: int64
                 * @description How many lines came.
                 */
                additions: number;
                /**
                 * Format: int64
                 * @description How many lines went.
                 */
                deletions: number;
                /** @description Whether it is no text: then nobody counts its lines. */
                binary: boolean;
                /** @description What it was, as git names it; nothing when it is new. */
                old_id?: string | null;
                /** @description What it is, as git names it; nothing when it is removed. */
                new_id?: string | null;
                /** @description What kind of file it was, such as `100644`. */
                old_mode?: string | null;
                /** @description What kind of file it is. */
                new_mode?: string | null;
            }[];
            /** @description Asks for the next page, when there is one. */
            next?: string | null;
        };
        /** @description A page of a list. */
        Page_ExecView: {
            /** @description What is on it. */
            items: {
                /** @description Its name. */
                exec_id: components["schemas"]["ExecId"];
                /** @description Where it runs. */
                sandbox_id: components["schemas"]["SandboxId"];
                /** @description What was asked for. */
                command: string;
                /** @description As whom, when somebody was named. */
                user?: string | null;
                /** @description Where, when a folder was named. */
                cwd?: string | null;
                /** @description Whether nobody waits for it. */
                background: boolean;
                /** @description Whether it has a terminal. */
                terminal: boolean;
                /**
                 * Format: int32
                 * @description The number of its process inside.
                 */
                pid?: number | null;
                /** @description How it stands. */
                status: components["schemas"]["ExecStatus"];
                /**
                 * Format: int32
                 * @description How it ended, as shells count; 124 when its time was up.
                 */
                exit_code?: number | null;
                /** @description Whether it was ended because its time was up. */
                timed_out: boolean;
                /** @description How it ended, in a word or two. */
                note?: string | null;
                /** @description The key that asked for it. */
                created_by: components["schemas"]["KeyId"];
                /**
                 * Format: date-time
                 * @description When it was started.
                 */
                started_at: string;
                /**
                 * Format: date-time
                 * @description When it ended, or was lost.
                 */
                ended_at?: string | null;
            }[];
            /** @description Asks for the next page, when there is one. */
            next?: string | null;
        };
        /** @description A page of a list. */
        Page_FileEntry: {
            /** @description What is on it. */
            items: {
                /** @description Its name. */
                name: string;
                /** @description Its whole path. */
                path: string;
                /** @description What it is; of a link, what it leads to. */
                kind: components["schemas"]["FileKind"];
                /**
                 * Format: int64
                 * @description Bytes.
                 */
                size: number;
                /** @description The permission bits, such as `0644`. */
                mode: string;
                /** @description Whose it is. */
                owner: string;
                /** @description And which group's. */
                group: string;
                /**
                 * Format: date-time
                 * @description When it last changed.
                 */
                modified_at?: string | null;
                /** @description Where it leads, when it is a link. */
                symlink_target?: string | null;
            }[];
            /** @description Asks for the next page, when there is one. */
            next?: string | null;
        };
        /** @description A page of a list. */
        Page_HookView: {
            /** @description What is on it. */
            items: {
                /** @description Its name. */
                id: components["schemas"]["HookId"];
                /** @description Where it is called. */
                url: components["schemas"]["HookUrl"];
                /** @description What it wants to hear. */
                events: components["schemas"]["Topic"][];
                /** @description How it stands: `active`, `failing` or `stopped`. */
                status: components["schemas"]["HookStatus"];
                /**
                 * Format: int64
                 * @description The last entry of the journal that it needs no more.
                 */
                cursor: number;
                /**
                 * Format: int64
                 * @description How many entries were delivered.
                 */
                delivered: number;
                /**
                 * Format: int32
                 * @description How often the present entry could not be delivered.
                 */
                failures: number;
                /**
                 * Format: date-time
                 * @description When it is tried again.
                 */
                next_attempt_at?: string | null;
                /** @description Why nothing is delivered any more. */
                note?: string | null;
                last?: components["schemas"]["Delivery"] | null;
                /** @description Who added it. */
                created_by: components["schemas"]["KeyId"];
                /**
                 * Format: date-time
                 * @description When.
                 */
                created_at: string;
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
        Page_LogLine: {
            /** @description What is on it. */
            items: {
                /**
                 * Format: date-time
                 * @description When.
                 */
                at: string;
                /** @description What, as a sentence. */
                text: string;
                exec_id?: components["schemas"]["ExecId"] | null;
            }[];
            /** @description Asks for the next page, when there is one. */
            next?: string | null;
        };
        /** @description A page of a list. */
        Page_NodeView: {
            /** @description What is on it. */
            items: {
                /** @description Its name, for good. */
                id: components["schemas"]["NodeId"];
                /** @description How it is. */
                state: components["schemas"]["NodeState"];
                /** @description Whether it is the one that gives this answer. */
                answers: boolean;
                /** @description Where other nodes reach it. */
                address: string;
                /** @description Which Carrel it runs. */
                version: string;
                /**
                 * Format: int32
                 * @description Its processors.
                 */
                cpus: number;
                /**
                 * Format: int64
                 * @description Its memory, in MiB.
                 */
                memory_mb: number;
                /**
                 * Format: int64
                 * @description How much of that was free when it was last heard of.
                 */
                free_mb: number;
                /**
                 * Format: int64
                 * @description How many sandboxes live on it, paused ones too.
                 */
                sandboxes: number;
                /**
                 * Format: date-time
                 * @description When this life of it began.
                 */
                started_at: string;
                /**
                 * Format: date-time
                 * @description When it was last heard of.
                 */
                seen_at: string;
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
        /** @description A page of a list. */
        Page_PullView: {
            /** @description What is on it. */
            items: {
                /** @description The repository. */
                repo: components["schemas"]["RepoName"];
                /**
                 * Format: int64
                 * @description Its number there.
                 */
                number: number;
                /** @description The forge that it is at: `embedded`, `github` or `gitea`. */
                forge: string;
                /** @description Where people look at it. */
                url: string;
                /** @description What it is called. */
                title: string;
                /** @description What it says of itself. */
                body: string;
                /** @description Who opened it. */
                author: string;
                task_id?: components["schemas"]["TaskId"] | null;
                /** @description The branch that is to be merged. */
                head: components["schemas"]["Branch"];
                /** @description Where that branch is, or was when it was last seen. */
                head_commit: components["schemas"]["CommitId"];
                /** @description The branch it is to be merged into. */
                base: components["schemas"]["Branch"];
                /** @description Where in its life it is. */
                phase: components["schemas"]["PullPhase"];
                /** @description Whether it is still being worked on. */
                draft: boolean;
                /** @description Its labels. */
                labels: string[];
                /** @description Whose review was asked for and has not come. */
                reviewers: string[];
                auto_merge?: components["schemas"]["MergeStyle"] | null;
                checks?: components["schemas"]["CheckState"] | null;
                verdict?: components["schemas"]["Verdict"] | null;
                /**
                 * Format: int64
                 * @description How many approve its head as it is.
                 */
                approvals?: number;
                merge_commit?: components["schemas"]["CommitId"] | null;
                /**
                 * Format: date-time
                 * @description When it was opened.
                 */
                created_at: string;
                /**
                 * Format: date-time
                 * @description When anything about it last changed.
                 */
                updated_at: string;
                /**
                 * Format: int64
                 * @description Counts what was seen to change.
                 */
                revision: number;
            }[];
            /** @description Asks for the next page, when there is one. */
            next?: string | null;
        };
        /** @description A page of a list. */
        Page_PushView: {
            /** @description What is on it. */
            items: {
                /** @description Its name. */
                id: components["schemas"]["PushId"];
                /** @description Where it arrived. */
                repo: components["schemas"]["RepoName"];
                task_id?: components["schemas"]["TaskId"] | null;
                sandbox_id?: components["schemas"]["SandboxId"] | null;
                /** @description The key that was shown. */
                key: components["schemas"]["KeyId"];
                /** @description What it asked for. */
                refs: components["schemas"]["PushedRef"][];
                /** @description Whether it was accepted. */
                accepted: boolean;
                /** @description Why it was refused, in the words that the client read. */
                refusal?: string | null;
                /**
                 * Format: date-time
                 * @description When.
                 */
                at: string;
            }[];
            /** @description Asks for the next page, when there is one. */
            next?: string | null;
        };
        /** @description A page of a list. */
        Page_QuotaView: {
            /** @description What is on it. */
            items: {
                /** @description What kind of thing it is a quota of. */
                of: components["schemas"]["QuotaOf"];
                /** @description Which one: the name of a key or of a repository. */
                name: string;
                /** @description What is counted. */
                what: components["schemas"]["QuotaWhat"];
                /**
                 * Format: double
                 * @description How much there is.
                 */
                used: number;
                /**
                 * Format: double
                 * @description How much there may be.
                 */
                most: number;
            }[];
            /** @description Asks for the next page, when there is one. */
            next?: string | null;
        };
        /** @description A page of a list. */
        Page_RefusedHost: {
            /** @description What is on it. */
            items: {
                /** @description Its name or address, as it was asked for. */
                host: string;
                /**
                 * Format: int32
                 * @description The port; null when only the name was asked for.
                 */
                port?: number | null;
                /** @description Why, in a sentence. */
                why: string;
                /**
                 * Format: int64
                 * @description How often, since the server began or since it was forgotten.
                 */
                times: number;
                /**
                 * Format: date-time
                 * @description When it was asked for last.
                 */
                at: string;
            }[];
            /** @description Asks for the next page, when there is one. */
            next?: string | null;
        };
        /** @description A page of a list. */
        Page_RepoView: {
            /** @description What is on it. */
            items: (components["schemas"]["RepoRules"] & {
                /** @description Its name. */
                name: components["schemas"]["RepoName"];
                source?: components["schemas"]["RepoSource"] | null;
                /** @description How far its mirror is. */
                phase: components["schemas"]["RepoPhase"];
                default_branch?: components["schemas"]["Branch"] | null;
                head?: components["schemas"]["CommitId"] | null;
                /** @description Why it is where it is, when that needs a sentence. */
                note?: string | null;
                /**
                 * Format: date-time
                 * @description When it was last brought up to date.
                 */
                synced_at?: string | null;
                /** @description Who added it. */
                created_by: components["schemas"]["KeyId"];
                /**
                 * Format: date-time
                 * @description When it was added.
                 */
                created_at: string;
                /**
                 * Format: date-time
                 * @description When it last changed.
                 */
                updated_at: string;
                /** @description It was removed: this entry is the last of it. */
                removed?: boolean;
                /**
                 * Format: int64
                 * @description Counts its changes.
                 */
                revision: number;
            })[];
            /** @description Asks for the next page, when there is one. */
            next?: string | null;
        };
        /** @description A page of a list. */
        Page_ReviewView: {
            /** @description What is on it. */
            items: {
                /** @description Its name at the forge. */
                id: string;
                /** @description Whose it is. */
                author: string;
                /** @description What it comes to. */
                verdict: components["schemas"]["Verdict"];
                /** @description What it says. */
                body: string;
                commit?: components["schemas"]["CommitId"] | null;
                /**
                 * Format: date-time
                 * @description When it was given.
                 */
                at: string;
            }[];
            /** @description Asks for the next page, when there is one. */
            next?: string | null;
        };
        /** @description A page of a list. */
        Page_SandboxView: {
            /** @description What is on it. */
            items: {
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
                node?: components["schemas"]["NodeId"] | null;
                /** @description How strongly it is kept apart. */
                isolation: components["schemas"]["Isolation"];
                agent_id?: components["schemas"]["AgentId"] | null;
                task_id?: components["schemas"]["TaskId"] | null;
                repo?: components["schemas"]["RepoName"] | null;
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
                /** @description Whether it comes back by itself when somebody wants something inside. */
                auto_resume?: boolean;
                /**
                 * Format: int64
                 * @description It is paused when nothing was active for so many seconds.
                 */
                idle_s?: number | null;
                /**
                 * Format: date-time
                 * @description When it counts as idle, if nothing happens until then.
                 */
                idle_at?: string | null;
                /** @description Who may call its ports by its own host name, when not only those with a key. */
                ports?: components["schemas"]["PortAccess"];
                port_host?: components["schemas"]["PortHost"] | null;
                /** @description The ports on which what listens inside speaks TLS itself. */
                tls_ports?: number[];
                /** @description The volumes that are mounted in it. */
                volumes?: components["schemas"]["VolumeMount"][];
                paused?: components["schemas"]["PausedView"] | null;
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
            }[];
            /** @description Asks for the next page, when there is one. */
            next?: string | null;
        };
        /** @description A page of a list. */
        Page_ScoreView: {
            /** @description What is on it. */
            items: {
                /** @description The attempt. */
                task_id: components["schemas"]["TaskId"];
                /**
                 * Format: double
                 * @description Its score; nothing when it could not be judged.
                 */
                score?: number | null;
                head?: components["schemas"]["CommitId"] | null;
                /** @description The end of what the judge printed, or why there is no score. */
                log: string;
                /** @description Whether it was promoted. */
                promoted: boolean;
            }[];
            /** @description Asks for the next page, when there is one. */
            next?: string | null;
        };
        /** @description A page of a list. */
        Page_SecretView: {
            /** @description What is on it. */
            items: {
                /** @description What it is called. */
                name: components["schemas"]["SecretName"];
                repo?: components["schemas"]["RepoName"] | null;
                /**
                 * Format: date-time
                 * @description When it was first set.
                 */
                created_at: string;
                /**
                 * Format: date-time
                 * @description When its value was last set.
                 */
                updated_at: string;
                /** @description Who set it. */
                updated_by: components["schemas"]["KeyId"];
                /**
                 * Format: int64
                 * @description Counts the values it had.
                 */
                revision: number;
            }[];
            /** @description Asks for the next page, when there is one. */
            next?: string | null;
        };
        /** @description A page of a list. */
        Page_SessionView: {
            /** @description What is on it. */
            items: {
                /** @description Its name. */
                id: components["schemas"]["SessionId"];
                /** @description Who answers. */
                agent: components["schemas"]["AgentId"];
                repo?: components["schemas"]["RepoName"] | null;
                task_id?: components["schemas"]["TaskId"] | null;
                /** @description What people call it. */
                title: string;
                /** @description Where it is. */
                phase: components["schemas"]["SessionPhase"];
                sandbox_id?: components["schemas"]["SandboxId"] | null;
                fork_of?: components["schemas"]["SessionId"] | null;
                /**
                 * Format: int64
                 * @description How long nothing may happen before the desk is paused.
                 */
                idle_s?: number | null;
                /** @description Whatever else belongs to it. */
                meta: Record<string, never>;
                /** @description The agent works on an answer, or the session is being closed. */
                busy: boolean;
                /**
                 * Format: int32
                 * @description How many turns there were.
                 */
                turns: number;
                /**
                 * Format: int64
                 * @description The place of the newest moment.
                 */
                last_seq: number;
                /**
                 * Format: double
                 * @description What the agent has spent, in dollars.
                 */
                cost_usd: number;
                /** @description Why it is where it is, when that needs a sentence. */
                note?: string | null;
                /** @description Who began it. */
                created_by: components["schemas"]["KeyId"];
                /**
                 * Format: date-time
                 * @description When it began.
                 */
                created_at: string;
                /**
                 * Format: date-time
                 * @description When it last changed.
                 */
                updated_at: string;
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
        Page_TaskId: {
            /** @description What is on it. */
            items: number[];
            /** @description Asks for the next page, when there is one. */
            next?: string | null;
        };
        /** @description A page of a list. */
        Page_TaskView: {
            /** @description What is on it. */
            items: {
                /** @description Its number. */
                id: components["schemas"]["TaskId"];
                /** @description Where the change is wanted. */
                repo: components["schemas"]["RepoName"];
                /** @description In a few words. */
                title: string;
                /** @description In as many words as it takes. */
                prompt: string;
                /** @description Who does it. */
                agent: components["schemas"]["AgentId"];
                /** @description The branch that it begins at and goes back to. */
                base: components["schemas"]["Branch"];
                base_commit?: components["schemas"]["CommitId"] | null;
                /** @description Its own branch. */
                branch: components["schemas"]["Branch"];
                /**
                 * Format: int32
                 * @description The higher, the sooner.
                 */
                priority: number;
                /**
                 * Format: date-time
                 * @description When it is to be done.
                 */
                due?: string | null;
                /** @description What people stuck on it. */
                labels: string[];
                /** @description What must happen first. */
                depends_on: components["schemas"]["Dependency"][];
                isolation?: components["schemas"]["Isolation"] | null;
                provider?: components["schemas"]["ProviderName"] | null;
                /** @description Whom its desk may talk to. */
                network: components["schemas"]["Network"];
                /**
                 * Format: double
                 * @description How much may be spent, in dollars.
                 */
                budget_usd?: number | null;
                budget_state?: components["schemas"]["BudgetState"] | null;
                /** @description Where people want it. */
                want: components["schemas"]["TaskWant"];
                /** @description Where it is. */
                phase: components["schemas"]["TaskPhase"];
                /** @description Its conversation. */
                session_id: components["schemas"]["SessionId"];
                sandbox_id?: components["schemas"]["SandboxId"] | null;
                head?: components["schemas"]["CommitId"] | null;
                /**
                 * Format: int32
                 * @description How many commits its branch has that the base has not.
                 */
                ahead: number;
                /**
                 * Format: int32
                 * @description How many commits the base has that its branch has not.
                 */
                behind: number;
                pull?: components["schemas"]["TaskPull"] | null;
                /** @description With whom it will conflict. */
                conflicts: components["schemas"]["Conflict"][];
                /** @description Who changes the same files, as far as they merge by themselves; at most twenty. */
                shares?: components["schemas"]["Conflict"][];
                /** @description Files and directories that it has claimed, each until a moment. */
                claims?: components["schemas"]["Claim"][];
                needs?: components["schemas"]["Needs"] | null;
                /**
                 * Format: double
                 * @description What it has spent, in dollars.
                 */
                cost_usd: number;
                /** @description What goes on, in a few words. */
                doing?: string | null;
                fork_of?: components["schemas"]["TaskId"] | null;
                from_session?: components["schemas"]["SessionId"] | null;
                /**
                 * Format: double
                 * @description What the judge gave it.
                 */
                score?: number | null;
                /** @description Who wrote the card. */
                created_by: components["schemas"]["KeyId"];
                /**
                 * Format: date-time
                 * @description When the card was written.
                 */
                created_at: string;
                /**
                 * Format: date-time
                 * @description When it last changed.
                 */
                updated_at: string;
                /**
                 * Format: date-time
                 * @description When it was last started.
                 */
                started_at?: string | null;
                /**
                 * Format: date-time
                 * @description When it was merged or closed.
                 */
                ended_at?: string | null;
                /**
                 * Format: int32
                 * @description How often in a row the present step, or a turn of the agent, has failed so far.
                 */
                attempts: number;
                /**
                 * Format: date-time
                 * @description When it is tried again.
                 */
                next_attempt_at?: string | null;
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
        Page_TemplateView: {
            /** @description What is on it. */
            items: {
                /** @description Its name. */
                name: components["schemas"]["TemplateName"];
                /** @description The provider that has it. */
                provider: components["schemas"]["ProviderName"];
                /** @description How far it is. */
                phase: components["schemas"]["TemplatePhase"];
                /** @description What it was asked to be made from. Absent for those that the provider brought along. */
                source?: unknown;
                /** @description What it was made from, as a sentence. */
                origin?: string | null;
                /**
                 * Format: int64
                 * @description Bytes of all its layers.
                 */
                bytes?: number | null;
                /**
                 * Format: int32
                 * @description How many layers it has.
                 */
                layers?: number | null;
                /** @description Whether the memory of its processes was kept too (snapshots alone). */
                memory: boolean;
                /** @description Why it is where it is, when that needs a sentence. */
                note?: string | null;
                created_by?: components["schemas"]["KeyId"] | null;
                /**
                 * Format: date-time
                 * @description When it was asked for.
                 */
                created_at?: string | null;
                /**
                 * Format: date-time
                 * @description When it last changed.
                 */
                updated_at?: string | null;
                /**
                 * Format: date-time
                 * @description When it was ready.
                 */
                ready_at?: string | null;
                /** @description It was removed: this entry is the last of it. */
                removed?: boolean;
                /**
                 * Format: int64
                 * @description Counts its changes.
                 */
                revision: number;
            }[];
            /** @description Asks for the next page, when there is one. */
            next?: string | null;
        };
        /** @description How a paused sandbox sleeps. */
        PausedView: {
            /** @description How deep it sleeps. */
            depth: components["schemas"]["Depth"];
            /** @description How deep people want it to sleep. Where that cannot be had, `depth` stays less. */
            wanted: components["schemas"]["Depth"];
        };
        /**
         * @description Where a sandbox is.
         * @enum {string}
         */
        Phase: "requested" | "preparing" | "ready" | "paused" | "closing" | "gone" | "failed";
        /** @description A piece of output, as an event tells it. */
        Piece: {
            /**
             * Format: int64
             * @description Where it begins in the transcript.
             */
            offset: number;
            /** @description The piece, when it is UTF-8. */
            text?: string | null;
            /** @description The piece in base64, when it is not. */
            base64?: string | null;
        };
        /**
         * @description Who may call the ports of a sandbox by its own host name.
         * @enum {string}
         */
        PortAccess: "keys" | "token" | "public";
        /** @description The host that requests to the ports of a sandbox name; `${PORT}` stands for the port. */
        PortHost: string;
        /** @description A link to a port, under a name that belongs to it alone. */
        PortLink: {
            /** @description The whole address. It opens the port in one browser, once; that browser may then come back for some hours. */
            url: string;
        };
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
        /** @description Where a proxy listens: a host and a port. */
        ProxyAddress: string;
        /** @description A name or a password for a proxy. It does not print itself. */
        ProxyWord: string;
        /** @description What was carried out. */
        PrunedView: {
            /**
             * Format: int64
             * @description Records of sandboxes that were gone.
             */
            sandboxes: number;
            /**
             * Format: int64
             * @description Checkouts and old mirrors that nobody stood on; nothing when it was not looked, or somebody was about to.
             */
            checkouts?: number | null;
            /** @description It was only looked. */
            dry_run: boolean;
        };
        /** @description What is new at a pull request. Each is told once, with the commit that it speaks of. */
        PullNews: {
            /** @description What was said. */
            comment: components["schemas"]["CommentView"];
            /** @description Where the head was when it was heard. */
            head: components["schemas"]["CommitId"];
            /** @enum {string} */
            what: "comment";
        } | {
            /** @description The review. */
            review: components["schemas"]["ReviewView"];
            /** @description The commit that was looked at, or where the head was when it was heard. */
            head: components["schemas"]["CommitId"];
            /** @enum {string} */
            what: "review";
        } | {
            /** @description What it found. */
            check: components["schemas"]["CheckView"];
            /** @description About which commit. */
            head: components["schemas"]["CommitId"];
            /** @enum {string} */
            what: "check";
        };
        /**
         * @description Where in its life a pull request is.
         * @enum {string}
         */
        PullPhase: "open" | "checking" | "mergeable" | "conflicted" | "merged" | "closed";
        /** @description What people want of the pull requests of a repository. */
        PullRules: {
            /**
             * Format: int64
             * @description So many people must approve its head before it is merged; nobody when left out.
             * @default null
             */
            approvals?: number | null;
            /**
             * @description Labels that every pull of a task gets.
             * @default []
             */
            labels?: string[];
            /**
             * @description Whose review is asked for, by login.
             * @default []
             */
            reviewers?: string[];
            /**
             * @description A pull of a task is opened as a draft.
             * @default false
             */
            draft?: boolean;
            /**
             * @description A pull of a task is merged by itself once nothing stands in the way.
             * @default false
             */
            auto_merge?: boolean;
        };
        /** @description Changes what is wanted of the pull requests of a repository; what is left out stays. */
        PullRulesChange: {
            /**
             * Format: int64
             * @description So many people must approve its head before it is merged.
             * @default null
             */
            approvals?: number | null;
            /**
             * @description Labels that every pull of a task gets.
             * @default null
             */
            labels?: string[] | null;
            /**
             * @description Whose review is asked for, by login.
             * @default null
             */
            reviewers?: string[] | null;
            /**
             * @description A pull of a task is opened as a draft.
             * @default null
             */
            draft?: boolean | null;
            /**
             * @description A pull of a task is merged by itself once nothing stands in the way.
             * @default null
             */
            auto_merge?: boolean | null;
        };
        /** @description A pull request. */
        PullView: {
            /** @description The repository. */
            repo: components["schemas"]["RepoName"];
            /**
             * Format: int64
             * @description Its number there.
             */
            number: number;
            /** @description The forge that it is at: `embedded`, `github` or `gitea`. */
            forge: string;
            /** @description Where people look at it. */
            url: string;
            /** @description What it is called. */
            title: string;
            /** @description What it says of itself. */
            body: string;
            /** @description Who opened it. */
            author: string;
            task_id?: components["schemas"]["TaskId"] | null;
            /** @description The branch that is to be merged. */
            head: components["schemas"]["Branch"];
            /** @description Where that branch is, or was when it was last seen. */
            head_commit: components["schemas"]["CommitId"];
            /** @description The branch it is to be merged into. */
            base: components["schemas"]["Branch"];
            /** @description Where in its life it is. */
            phase: components["schemas"]["PullPhase"];
            /** @description Whether it is still being worked on. */
            draft: boolean;
            /** @description Its labels. */
            labels: string[];
            /** @description Whose review was asked for and has not come. */
            reviewers: string[];
            auto_merge?: components["schemas"]["MergeStyle"] | null;
            checks?: components["schemas"]["CheckState"] | null;
            verdict?: components["schemas"]["Verdict"] | null;
            /**
             * Format: int64
             * @description How many approve its head as it is.
             */
            approvals?: number;
            merge_commit?: components["schemas"]["CommitId"] | null;
            /**
             * Format: date-time
             * @description When it was opened.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When anything about it last changed.
             */
            updated_at: string;
            /**
             * Format: int64
             * @description Counts what was seen to change.
             */
            revision: number;
        };
        /** @description Names a push. */
        PushId: string;
        /** @description Refs that arrived through the gateway, with the verdict on them. */
        PushView: {
            /** @description Its name. */
            id: components["schemas"]["PushId"];
            /** @description Where it arrived. */
            repo: components["schemas"]["RepoName"];
            task_id?: components["schemas"]["TaskId"] | null;
            sandbox_id?: components["schemas"]["SandboxId"] | null;
            /** @description The key that was shown. */
            key: components["schemas"]["KeyId"];
            /** @description What it asked for. */
            refs: components["schemas"]["PushedRef"][];
            /** @description Whether it was accepted. */
            accepted: boolean;
            /** @description Why it was refused, in the words that the client read. */
            refusal?: string | null;
            /**
             * Format: date-time
             * @description When.
             */
            at: string;
        };
        /** @description One ref of a push. */
        PushedRef: {
            /** @description Its name. */
            name: components["schemas"]["RefName"];
            old?: components["schemas"]["CommitId"] | null;
            new?: components["schemas"]["CommitId"] | null;
            /** @description Whether it moved. */
            moved: boolean;
        };
        /**
         * @description Whose quota it is.
         * @enum {string}
         */
        QuotaOf: "member" | "repo";
        /** @description A quota, and how much of it is used. */
        QuotaView: {
            /** @description What kind of thing it is a quota of. */
            of: components["schemas"]["QuotaOf"];
            /** @description Which one: the name of a key or of a repository. */
            name: string;
            /** @description What is counted. */
            what: components["schemas"]["QuotaWhat"];
            /**
             * Format: double
             * @description How much there is.
             */
            used: number;
            /**
             * Format: double
             * @description How much there may be.
             */
            most: number;
        };
        /**
         * @description What is counted.
         * @enum {string}
         */
        QuotaWhat: "sandboxes" | "tasks" | "usd_today" | "disk_mb";
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
        /** @description A full name of a ref, such as `refs/heads/main`. */
        RefName: string;
        /** @description A host that a sandbox asked for and was refused. */
        RefusedHost: {
            /** @description Its name or address, as it was asked for. */
            host: string;
            /**
             * Format: int32
             * @description The port; null when only the name was asked for.
             */
            port?: number | null;
            /** @description Why, in a sentence. */
            why: string;
            /**
             * Format: int64
             * @description How often, since the server began or since it was forgotten.
             */
            times: number;
            /**
             * Format: date-time
             * @description When it was asked for last.
             */
            at: string;
        };
        /** @description Changes what is wanted of a repository; what is left out stays. */
        RepoChange: {
            /** @default null */
            default_branch?: components["schemas"]["Branch"] | null;
            /**
             * @description Where its pull requests are: `embedded`, `github`, `gitea`.
             * @default null
             */
            forge?: string | null;
            /**
             * @description What is run on the merged result before the base moves; empty for nothing.
             * @default null
             */
            check_command?: string | null;
            /** @default null */
            merge?: components["schemas"]["MergeStyle"] | null;
            /** @default null */
            branch_format?: components["schemas"]["BranchFormat"] | null;
            /**
             * @description Branches stay after they were merged.
             * @default null
             */
            keep_branches?: boolean | null;
            /**
             * @description Only paths that fit may be changed by pushes, such as `src/**`.
             * @default null
             */
            allow_paths?: string[] | null;
            /**
             * @description Paths that fit may not be changed by pushes, such as `.github/**`.
             * @default null
             */
            deny_paths?: string[] | null;
            /**
             * @description Secrets in pushes are let by.
             * @default null
             */
            allow_secrets?: boolean | null;
            /**
             * Format: int64
             * @description The largest file that a push may bring, in MiB.
             * @default null
             */
            largest_file_mb?: number | null;
            /** @default null */
            pulls?: components["schemas"]["PullRulesChange"] | null;
            /** @default null */
            commands?: components["schemas"]["CommandRulesChange"] | null;
            /** @default null */
            network?: components["schemas"]["NewNetwork"] | null;
        };
        /** @description What a repository's forge answered when it was asked who we are there and what we may do. */
        RepoFitness: {
            /** @description Where its pull requests are: `embedded`, `github`, `gitea`. */
            forge: string;
            /** @description Whether the forge answered and knows our credential. */
            reached: boolean;
            /** @description Our name there. */
            login?: string | null;
            /** @description The branch that work starts from, as the forge has it. */
            default_branch?: string | null;
            /** @description What is missing, each a sentence with what would give it. Empty when nothing is. */
            missing: string[];
        };
        /** @description Names a repository in this house, in addresses and folders. */
        RepoName: string;
        /**
         * @description How far a repository's mirror is.
         * @enum {string}
         */
        RepoPhase: "cloning" | "ready" | "failed";
        /** @description What people want of a repository. */
        RepoRules: {
            /** @default null */
            pinned_branch?: components["schemas"]["Branch"] | null;
            /**
             * @description Where its pull requests are: `embedded`, `github`, `gitea`. Nothing: by where it comes from.
             * @default null
             */
            forge?: string | null;
            /**
             * @description What is run on the merged result before the base moves.
             * @default null
             */
            check_command?: string | null;
            /**
             * @description How a branch is put onto its base.
             * @default squash
             */
            merge?: components["schemas"]["MergeStyle"];
            /** @default null */
            branch_format?: components["schemas"]["BranchFormat"] | null;
            /**
             * @description Branches stay after they were merged.
             * @default false
             */
            keep_branches?: boolean;
            /**
             * @description Only paths that fit may be changed by pushes, when there are any.
             * @default []
             */
            allow_paths?: string[];
            /**
             * @description Paths that fit may not be changed by pushes.
             * @default []
             */
            deny_paths?: string[];
            /**
             * @description Secrets in pushes are let by.
             * @default false
             */
            allow_secrets?: boolean;
            /**
             * Format: int64
             * @description The largest file that a push may bring, in MiB; 50 when left out.
             * @default null
             */
            largest_file_mb?: number | null;
            /**
             * @description What is wanted of its pull requests.
             * @default {
             *       "draft": false,
             *       "auto_merge": false
             *     }
             */
            pulls?: components["schemas"]["PullRules"];
            /**
             * @description What may be run at its desks when somebody asks for it from outside.
             * @default {}
             */
            commands?: components["schemas"]["CommandRules"];
            /**
             * @description Whom its desks may talk to when a card or a session does not say.
             * @default {
             *       "mode": "none",
             *       "allow": []
             *     }
             */
            network?: components["schemas"]["Network"];
        };
        /** @description Where a repository comes from: a path, an address, or `github:owner/name`. It holds no credential. */
        RepoSource: string;
        /** @description A repository. */
        RepoView: components["schemas"]["RepoRules"] & {
            /** @description Its name. */
            name: components["schemas"]["RepoName"];
            source?: components["schemas"]["RepoSource"] | null;
            /** @description How far its mirror is. */
            phase: components["schemas"]["RepoPhase"];
            default_branch?: components["schemas"]["Branch"] | null;
            head?: components["schemas"]["CommitId"] | null;
            /** @description Why it is where it is, when that needs a sentence. */
            note?: string | null;
            /**
             * Format: date-time
             * @description When it was last brought up to date.
             */
            synced_at?: string | null;
            /** @description Who added it. */
            created_by: components["schemas"]["KeyId"];
            /**
             * Format: date-time
             * @description When it was added.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it last changed.
             */
            updated_at: string;
            /** @description It was removed: this entry is the last of it. */
            removed?: boolean;
            /**
             * Format: int64
             * @description Counts its changes.
             */
            revision: number;
        };
        /** @description What somebody thinks of a pull request as a whole. */
        ReviewView: {
            /** @description Its name at the forge. */
            id: string;
            /** @description Whose it is. */
            author: string;
            /** @description What it comes to. */
            verdict: components["schemas"]["Verdict"];
            /** @description What it says. */
            body: string;
            commit?: components["schemas"]["CommitId"] | null;
            /**
             * Format: date-time
             * @description When it was given.
             */
            at: string;
        };
        /**
         * @description The name of an authority.
         * @enum {string}
         */
        Role: "admin" | "member" | "agent" | "sandbox";
        /** @description A sandbox that was asked for, with how its first command went. */
        SandboxCreated: components["schemas"]["SandboxView"] & {
            exec?: components["schemas"]["Executed"] | null;
        };
        /** @description One sandbox with what only a look at it alone tells. */
        SandboxDetail: components["schemas"]["SandboxView"] & {
            /** @description What its provider could not give it on this host, as sentences. */
            fitness?: string[];
        };
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
            node?: components["schemas"]["NodeId"] | null;
            /** @description How strongly it is kept apart. */
            isolation: components["schemas"]["Isolation"];
            agent_id?: components["schemas"]["AgentId"] | null;
            task_id?: components["schemas"]["TaskId"] | null;
            repo?: components["schemas"]["RepoName"] | null;
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
            /** @description Whether it comes back by itself when somebody wants something inside. */
            auto_resume?: boolean;
            /**
             * Format: int64
             * @description It is paused when nothing was active for so many seconds.
             */
            idle_s?: number | null;
            /**
             * Format: date-time
             * @description When it counts as idle, if nothing happens until then.
             */
            idle_at?: string | null;
            /** @description Who may call its ports by its own host name, when not only those with a key. */
            ports?: components["schemas"]["PortAccess"];
            port_host?: components["schemas"]["PortHost"] | null;
            /** @description The ports on which what listens inside speaks TLS itself. */
            tls_ports?: number[];
            /** @description The volumes that are mounted in it. */
            volumes?: components["schemas"]["VolumeMount"][];
            paused?: components["schemas"]["PausedView"] | null;
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
        /** @description What the judge gave an attempt. */
        ScoreView: {
            /** @description The attempt. */
            task_id: components["schemas"]["TaskId"];
            /**
             * Format: double
             * @description Its score; nothing when it could not be judged.
             */
            score?: number | null;
            head?: components["schemas"]["CommitId"] | null;
            /** @description The end of what the judge printed, or why there is no score. */
            log: string;
            /** @description Whether it was promoted. */
            promoted: boolean;
        };
        /** @description Names a secret, such as `github-token`. */
        SecretName: string;
        /** @description A secret. Its value is never shown. */
        SecretView: {
            /** @description What it is called. */
            name: components["schemas"]["SecretName"];
            repo?: components["schemas"]["RepoName"] | null;
            /**
             * Format: date-time
             * @description When it was first set.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When its value was last set.
             */
            updated_at: string;
            /** @description Who set it. */
            updated_by: components["schemas"]["KeyId"];
            /**
             * Format: int64
             * @description Counts the values it had.
             */
            revision: number;
        };
        /** @description The name that a certificate must have. */
        ServerName: string;
        /** @description Names a session. */
        SessionId: string;
        /**
         * @description Where a session is.
         * @enum {string}
         */
        SessionPhase: "open" | "idle" | "closed";
        /** @description A session. */
        SessionView: {
            /** @description Its name. */
            id: components["schemas"]["SessionId"];
            /** @description Who answers. */
            agent: components["schemas"]["AgentId"];
            repo?: components["schemas"]["RepoName"] | null;
            task_id?: components["schemas"]["TaskId"] | null;
            /** @description What people call it. */
            title: string;
            /** @description Where it is. */
            phase: components["schemas"]["SessionPhase"];
            sandbox_id?: components["schemas"]["SandboxId"] | null;
            fork_of?: components["schemas"]["SessionId"] | null;
            /**
             * Format: int64
             * @description How long nothing may happen before the desk is paused.
             */
            idle_s?: number | null;
            /** @description Whatever else belongs to it. */
            meta: Record<string, never>;
            /** @description The agent works on an answer, or the session is being closed. */
            busy: boolean;
            /**
             * Format: int32
             * @description How many turns there were.
             */
            turns: number;
            /**
             * Format: int64
             * @description The place of the newest moment.
             */
            last_seq: number;
            /**
             * Format: double
             * @description What the agent has spent, in dollars.
             */
            cost_usd: number;
            /** @description Why it is where it is, when that needs a sentence. */
            note?: string | null;
            /** @description Who began it. */
            created_by: components["schemas"]["KeyId"];
            /**
             * Format: date-time
             * @description When it began.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it last changed.
             */
            updated_at: string;
            /**
             * Format: int64
             * @description Counts its changes.
             */
            revision: number;
        };
        /**
         * @description A side of a diff.
         * @enum {string}
         */
        Side: "old" | "new";
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
        /** @description What a sandbox uses, and what goes on in it. */
        StatsView: {
            /** @description Which sandbox. */
            sandbox_id: components["schemas"]["SandboxId"];
            /**
             * Format: date-time
             * @description When this was measured.
             */
            at: string;
            /** @description What it uses. */
            usage: components["schemas"]["Usage"];
            /** @description What it may use. */
            limits: components["schemas"]["Limits"];
            /** @description What goes on in it, as far as this server's node has part in it. */
            activity: components["schemas"]["Activity"];
        };
        /**
         * @description Where a sandbox is, in words known from elsewhere.
         * @enum {string}
         */
        Status: "starting" | "running" | "paused" | "error" | "stopped";
        /** @description The keys of one browser's subscription, in URL-safe Base64. */
        SubscriptionKeys: {
            /** @description Its public key: 65 bytes. */
            p256dh: string;
            /** @description A secret that it shares with us alone: 16 bytes. */
            auth: string;
        };
        /** @description A browser that is told. */
        SubscriptionView: {
            /** @description Names it here. */
            id: string;
            /** @description Who carries its notices. */
            service: string;
            /**
             * Format: date-time
             * @description Since when.
             */
            created_at: string;
        };
        /** @description Changes a card; what is left out stays. */
        TaskChange: {
            /**
             * @description In a few words.
             * @default null
             */
            title?: string | null;
            /**
             * @description In as many words as it takes. Only before it was started.
             * @default null
             */
            prompt?: string | null;
            /** @default null */
            agent?: components["schemas"]["AgentId"] | null;
            /**
             * Format: int32
             * @description The higher, the sooner.
             * @default null
             */
            priority?: number | null;
            /**
             * Format: date-time
             * @description When it is to be done; `null` takes that away.
             * @default null
             */
            due?: string | null;
            /**
             * @description What to stick on it.
             * @default null
             */
            labels?: string[] | null;
            /**
             * @description What must happen first.
             * @default null
             */
            depends_on?: components["schemas"]["Dependency"][] | null;
            /**
             * @description The branch that it is merged into.
             * @default null
             */
            base?: string | null;
            /**
             * Format: double
             * @description How much may be spent, in dollars.
             * @default null
             */
            budget_usd?: number | null;
        };
        /**
         * Format: int64
         * @description Names a task: a whole number, counted from one.
         */
        TaskId: number;
        /** @description A page of tasks, and the place in the journal from which on changes to them are told. */
        TaskPage: {
            /** @description The tasks. */
            items: components["schemas"]["TaskView"][];
            /** @description Where the next page begins; nothing at the end. */
            next?: string | null;
            /** @description What changes later is an entry after this one. */
            as_of: components["schemas"]["Cursor"];
        };
        /**
         * @description Where a task is.
         * @enum {string}
         */
        TaskPhase: "backlog" | "queued" | "preparing" | "working" | "publishing" | "in_review" | "needs_you" | "merged" | "closed" | "failed";
        /** @description The pull request of a task. */
        TaskPull: {
            /**
             * Format: int64
             * @description Its number.
             */
            number: number;
            /** @description Where people look at it. */
            url: string;
            /** @description Where it is. */
            phase: components["schemas"]["PullPhase"];
            checks?: components["schemas"]["CheckState"] | null;
        };
        /** @description A task. */
        TaskView: {
            /** @description Its number. */
            id: components["schemas"]["TaskId"];
            /** @description Where the change is wanted. */
            repo: components["schemas"]["RepoName"];
            /** @description In a few words. */
            title: string;
            /** @description In as many words as it takes. */
            prompt: string;
            /** @description Who does it. */
            agent: components["schemas"]["AgentId"];
            /** @description The branch that it begins at and goes back to. */
            base: components["schemas"]["Branch"];
            base_commit?: components["schemas"]["CommitId"] | null;
            /** @description Its own branch. */
            branch: components["schemas"]["Branch"];
            /**
             * Format: int32
             * @description The higher, the sooner.
             */
            priority: number;
            /**
             * Format: date-time
             * @description When it is to be done.
             */
            due?: string | null;
            /** @description What people stuck on it. */
            labels: string[];
            /** @description What must happen first. */
            depends_on: components["schemas"]["Dependency"][];
            isolation?: components["schemas"]["Isolation"] | null;
            provider?: components["schemas"]["ProviderName"] | null;
            /** @description Whom its desk may talk to. */
            network: components["schemas"]["Network"];
            /**
             * Format: double
             * @description How much may be spent, in dollars.
             */
            budget_usd?: number | null;
            budget_state?: components["schemas"]["BudgetState"] | null;
            /** @description Where people want it. */
            want: components["schemas"]["TaskWant"];
            /** @description Where it is. */
            phase: components["schemas"]["TaskPhase"];
            /** @description Its conversation. */
            session_id: components["schemas"]["SessionId"];
            sandbox_id?: components["schemas"]["SandboxId"] | null;
            head?: components["schemas"]["CommitId"] | null;
            /**
             * Format: int32
             * @description How many commits its branch has that the base has not.
             */
            ahead: number;
            /**
             * Format: int32
             * @description How many commits the base has that its branch has not.
             */
            behind: number;
            pull?: components["schemas"]["TaskPull"] | null;
            /** @description With whom it will conflict. */
            conflicts: components["schemas"]["Conflict"][];
            /** @description Who changes the same files, as far as they merge by themselves; at most twenty. */
            shares?: components["schemas"]["Conflict"][];
            /** @description Files and directories that it has claimed, each until a moment. */
            claims?: components["schemas"]["Claim"][];
            needs?: components["schemas"]["Needs"] | null;
            /**
             * Format: double
             * @description What it has spent, in dollars.
             */
            cost_usd: number;
            /** @description What goes on, in a few words. */
            doing?: string | null;
            fork_of?: components["schemas"]["TaskId"] | null;
            from_session?: components["schemas"]["SessionId"] | null;
            /**
             * Format: double
             * @description What the judge gave it.
             */
            score?: number | null;
            /** @description Who wrote the card. */
            created_by: components["schemas"]["KeyId"];
            /**
             * Format: date-time
             * @description When the card was written.
             */
            created_at: string;
            /**
             * Format: date-time
             * @description When it last changed.
             */
            updated_at: string;
            /**
             * Format: date-time
             * @description When it was last started.
             */
            started_at?: string | null;
            /**
             * Format: date-time
             * @description When it was merged or closed.
             */
            ended_at?: string | null;
            /**
             * Format: int32
             * @description How often in a row the present step, or a turn of the agent, has failed so far.
             */
            attempts: number;
            /**
             * Format: date-time
             * @description When it is tried again.
             */
            next_attempt_at?: string | null;
            /**
             * Format: int64
             * @description Counts its changes.
             */
            revision: number;
        };
        /**
         * @description Where people want a task.
         * @enum {string}
         */
        TaskWant: "rest" | "review" | "merged" | "closed";
        /** @description Names a template: what a sandbox starts from. */
        TemplateName: string;
        /**
         * @description How far a template is.
         * @enum {string}
         */
        TemplatePhase: "requested" | "building" | "ready" | "failed";
        /** @description A template. */
        TemplateView: {
            /** @description Its name. */
            name: components["schemas"]["TemplateName"];
            /** @description The provider that has it. */
            provider: components["schemas"]["ProviderName"];
            /** @description How far it is. */
            phase: components["schemas"]["TemplatePhase"];
            /** @description What it was asked to be made from. Absent for those that the provider brought along. */
            source?: unknown;
            /** @description What it was made from, as a sentence. */
            origin?: string | null;
            /**
             * Format: int64
             * @description Bytes of all its layers.
             */
            bytes?: number | null;
            /**
             * Format: int32
             * @description How many layers it has.
             */
            layers?: number | null;
            /** @description Whether the memory of its processes was kept too (snapshots alone). */
            memory: boolean;
            /** @description Why it is where it is, when that needs a sentence. */
            note?: string | null;
            created_by?: components["schemas"]["KeyId"] | null;
            /**
             * Format: date-time
             * @description When it was asked for.
             */
            created_at?: string | null;
            /**
             * Format: date-time
             * @description When it last changed.
             */
            updated_at?: string | null;
            /**
             * Format: date-time
             * @description When it was ready.
             */
            ready_at?: string | null;
            /** @description It was removed: this entry is the last of it. */
            removed?: boolean;
            /**
             * Format: int64
             * @description Counts its changes.
             */
            revision: number;
        };
        /** @description A page of a timeline, oldest first. */
        Timeline: {
            /** @description The moments. */
            items: components["schemas"]["Moment"][];
            /** @description Where the next page begins; nothing at the end. */
            next?: string | null;
        };
        /** @description Tokens that a request took, each counted once. */
        Tokens: {
            /**
             * Format: int64
             * @description Read by the model, and found in no cache.
             */
            input: number;
            /**
             * Format: int64
             * @description Written by the model.
             */
            output: number;
            /**
             * Format: int64
             * @description Read from the cache.
             */
            cache_read: number;
            /**
             * Format: int64
             * @description Put into the cache, for however long.
             */
            cache_write: number;
        };
        /** @description A tool that an agent used. */
        ToolUse: {
            /** @description What the agent calls this use of it. */
            id: string;
            /** @description The tool's name. */
            name: string;
            /** @description In a few words. */
            title: string;
            /** @description What it was given. */
            input?: Record<string, never>;
            /** @description What it gave; nothing while it runs. */
            output?: string | null;
            /** @description Whether it worked; nothing while it runs. */
            ok?: boolean | null;
        };
        /** @description What a hook wants to hear: a kind of entry such as `task`, or one word of it such as `task.needs_you`. */
        Topic: string;
        /**
         * @description How far another task must be.
         * @enum {string}
         */
        Until: "started" | "in_review" | "merged";
        /** @description What a sandbox uses now. What cannot be measured on its host is absent. */
        Usage: {
            /**
             * Format: int64
             * @description Processor time since it was made, in microseconds.
             */
            cpu_us?: number | null;
            /**
             * Format: int64
             * @description Bytes of memory, caches included.
             */
            memory_bytes?: number | null;
            /**
             * Format: int64
             * @description Bytes of caches in that memory, which the kernel takes back when it needs them.
             */
            cache_bytes?: number | null;
            /**
             * Format: int64
             * @description Bytes it has written to its own layer.
             */
            disk_bytes?: number | null;
            /**
             * Format: int64
             * @description Processes and threads.
             */
            pids?: number | null;
            /**
             * Format: int64
             * @description Bytes received from outside.
             */
            received_bytes?: number | null;
            /**
             * Format: int64
             * @description Bytes sent outside.
             */
            sent_bytes?: number | null;
            /**
             * Format: int64
             * @description How often the kernel ended a process of it for want of memory.
             */
            out_of_memory?: number | null;
        };
        /**
         * @description What usage is added up by.
         * @enum {string}
         */
        UsageBy: "day" | "task" | "session" | "agent" | "model" | "provider";
        /** @description Requests to models, added up. */
        UsageSum: {
            /** @description What they have in common: a day as `2026-11-16`, a task's number, a name. Absent for those that have none. */
            name?: string | null;
            /**
             * Format: int64
             * @description How many there were.
             */
            requests: number;
            /** @description What they took. */
            tokens: components["schemas"]["Tokens"];
            /** @description What they cost, as far as prices are known. */
            cost_usd: components["schemas"]["Dollars"];
            /**
             * Format: int64
             * @description How many of them have no known price: they are not in `cost_usd`.
             */
            unpriced: number;
            /**
             * Format: int64
             * @description For how many of them the tokens were guessed.
             */
            estimated: number;
        };
        /** @description Usage, added up by one thing, and all of it together. */
        UsageView: {
            /** @description What it is added up by. */
            by: components["schemas"]["UsageBy"];
            /** @description The sums; days newest first, everything else by what it cost. */
            items: components["schemas"]["UsageSum"][];
            /** @description Everything that was asked for, in one. */
            total: components["schemas"]["UsageSum"];
        };
        /**
         * @description What a review comes to.
         * @enum {string}
         */
        Verdict: "approved" | "changes_requested" | "commented" | "dismissed";
        /**
         * @description Who says something at a desk.
         * @enum {string}
         */
        Voice: "user" | "agent" | "house";
        /** @description Names a volume. */
        VolumeId: string;
        /** @description A volume, and where it is mounted. */
        VolumeMount: {
            /** @description The volume. */
            volume: components["schemas"]["VolumeId"];
            /** @description What people call it. */
            name: components["schemas"]["VolumeName"];
            /** @description Where it is inside. */
            path: components["schemas"]["VolumePath"];
        };
        /** @description What people call a volume. */
        VolumeName: string;
        /** @description Where a volume is mounted: a folder inside that is no part of the system. */
        VolumePath: string;
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
