//! Who may do what: the roles of members, and the permissions that each of them gives.

use serde::{Deserialize, Serialize};

/// What a member is in its tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Owner,
    Admin,
    BillingAdmin,
    Member,
    Viewer,
}

/// What a role can allow; every call needs one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Permission {
    SessionCreate,
    SessionRead,
    SessionWrite,
    SessionDelete,
    SessionArchive,
    SessionSteer,
    MemberRead,
    MemberWrite,
    MemberDelete,
    BillingRead,
    BillingWrite,
    /// What is the whole tenant's: its keys, its MCP servers, what it has everywhere.
    TenantAdmin,
}

impl Role {
    /// The strongest first.
    pub const ALL: [Self; 5] = [
        Self::Owner,
        Self::Admin,
        Self::BillingAdmin,
        Self::Member,
        Self::Viewer,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Admin => "admin",
            Self::BillingAdmin => "billing_admin",
            Self::Member => "member",
            Self::Viewer => "viewer",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }

    pub const fn may(self, permission: Permission) -> bool {
        use Permission as P;
        match permission {
            P::SessionRead => true,
            P::SessionCreate | P::SessionWrite | P::SessionArchive | P::SessionSteer => {
                !matches!(self, Self::Viewer)
            }
            P::SessionDelete | P::MemberRead | P::MemberWrite => {
                matches!(self, Self::Owner | Self::Admin)
            }
            P::BillingRead => matches!(self, Self::Owner | Self::Admin | Self::BillingAdmin),
            P::BillingWrite => matches!(self, Self::Owner | Self::BillingAdmin),
            P::MemberDelete | P::TenantAdmin => matches!(self, Self::Owner),
        }
    }

    /// Whether everything that this role may, the other one may too.
    pub fn is_within(self, other: Self) -> bool {
        let mut all = Permission::ALL.into_iter();
        all.all(|permission| other.may(permission) || !self.may(permission))
    }
}

impl Permission {
    pub const ALL: [Self; 12] = [
        Self::SessionCreate,
        Self::SessionRead,
        Self::SessionWrite,
        Self::SessionDelete,
        Self::SessionArchive,
        Self::SessionSteer,
        Self::MemberRead,
        Self::MemberWrite,
        Self::MemberDelete,
        Self::BillingRead,
        Self::BillingWrite,
        Self::TenantAdmin,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::SessionCreate => "session:create",
            Self::SessionRead => "session:read",
            Self::SessionWrite => "session:write",
            Self::SessionDelete => "session:delete",
            Self::SessionArchive => "session:archive",
            Self::SessionSteer => "session:steer",
            Self::MemberRead => "member:read",
            Self::MemberWrite => "member:write",
            Self::MemberDelete => "member:delete",
            Self::BillingRead => "billing:read",
            Self::BillingWrite => "billing:write",
            Self::TenantAdmin => "tenant:admin",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permissions(role: Role) -> Vec<&'static str> {
        let all = Permission::ALL.into_iter();
        all.filter(|permission| role.may(*permission))
            .map(Permission::name)
            .collect()
    }

    #[test]
    fn each_role_has_its_permissions() {
        assert_eq!(permissions(Role::Owner).len(), 12);
        let missing = ["member:delete", "billing:write", "tenant:admin"];
        let mut admin = permissions(Role::Owner);
        admin.retain(|name| !missing.contains(name));
        assert_eq!(permissions(Role::Admin), admin);
        let member = [
            "session:create",
            "session:read",
            "session:write",
            "session:archive",
            "session:steer",
        ];
        assert_eq!(permissions(Role::Member), member);
        let billing = [&member[..], &["billing:read", "billing:write"]].concat();
        assert_eq!(permissions(Role::BillingAdmin), billing);
        assert_eq!(permissions(Role::Viewer), ["session:read"]);
    }

    #[test]
    fn a_role_is_known_by_its_name_and_only_by_it() {
        for role in Role::ALL {
            assert_eq!(Role::parse(role.name()), Some(role));
        }
        for wrong in ["", "Owner", "billing-admin", "root"] {
            assert_eq!(Role::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_role_is_within_another_that_may_all_it_may() {
        for role in Role::ALL {
            assert!(role.is_within(role) && role.is_within(Role::Owner));
            assert!(Role::Viewer.is_within(role));
        }
        // Neither is more than the other: one has members, the other has money.
        assert!(!Role::BillingAdmin.is_within(Role::Admin));
        assert!(!Role::Admin.is_within(Role::BillingAdmin));
    }
}
